/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The precedence graph for other tools: GraphViz, and a place/transition net as PNML (ISO/IEC 15909-2).  In the net
 * each node is a transition, each edge a place; a place without edge, with the one token of the beginning, comes before
 * each node that nothing precedes.  So a transition can fire when all that precedes it has fired, each fires once, and
 * the run's own order is one of the orders in which the net can.
 */
#include "base/files.h"
#include "export.h"

#include "report_table.h"

#include <string.h>

/* Text in XML, or (@dot) between the quotes of GraphViz. */
static void put_text(FILE *out, const char *text, int dot)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 0x7f)
            fputc('?', out);
        else if (dot)
            fprintf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        else if (c == '&' || c == '<' || c == '>' || c == '"')
            fprintf(out, "&#%u;", c);
        else
            fputc(c, out);
    }
}

static const json_t *graph_of(const json_t *stats, struct peet_error *error)
{
    const json_t *graph = json_object_get(stats, "graph");
    if (json_is_array(json_object_get(graph, "node_list")) && json_is_array(json_object_get(graph, "edge_list")))
        return graph;
    peet_error_set(error, PEET_ENOTFOUND,
        "these results have no precedence graph; \"peet run --observe graph ...\" makes one");
    return NULL;
}

int peet_cli_export_dot(const json_t *stats, const char *path, struct peet_error *error)
{
    static const char *const styles[][2] = {{"program", "solid"}, {"fork", "bold"}, {"join", "bold"},
        {"barrier", "bold"}, {"signal", "bold"}, {"order", "dashed"}};
    const json_t *graph = graph_of(stats, error), *one;
    json_t *critical = json_object();
    size_t i;
    if (!graph) {
        json_decref(critical);
        return PEET_ENOTFOUND;
    }
    struct peet_file file;
    FILE *out = peet_file_create(path, &file, error) ? NULL : file.stream;
    if (!out) {
        json_decref(critical);
        return PEET_EIO;
    }
    json_array_foreach(json_object_get(graph, "critical_path"), i, one)
    {
        char key[24];
        snprintf(key, sizeof(key), "%lld", (long long)json_integer_value(one));
        json_object_set_new(critical, key, json_true());
    }
    fputs("digraph precedence {\n  node [shape=box, fontname=\"sans\"];\n", out);
    json_array_foreach(json_object_get(graph, "node_list"), i, one)
    {
        char key[24];
        snprintf(key, sizeof(key), "%.0f", number(one, "id"));
        fprintf(out, "  n%s [label=\"", key);
        put_text(out, text(one, "task"), 1);
        fputs("\\n", out);
        put_text(out, text(one, "function"), 1);
        fprintf(out, ":%.0f\\n%.0f instructions\"%s];\n", number(one, "line"), number(one, "instructions"),
            json_object_get(critical, key) ? ", style=filled, fillcolor=\"#f4c7a1\"" : "");
    }
    json_array_foreach(json_object_get(graph, "edge_list"), i, one)
    {
        const char *style = "solid";
        for (size_t k = 0; k < sizeof(styles) / sizeof(styles[0]); k++)
            style = strcmp(styles[k][0], text(one, "kind")) == 0 ? styles[k][1] : style;
        fprintf(out, "  n%.0f -> n%.0f [style=%s];\n", number(one, "from"), number(one, "to"), style);
    }
    json_array_foreach(json_object_get(graph, "data_list"), i, one) fprintf(out,
        "  n%.0f -> n%.0f [style=dotted, color=\"#0b5cad\", fontcolor=\"#0b5cad\", constraint=false, label=\"%.0f bytes\"];\n",
        number(one, "from"), number(one, "to"), number(one, "bytes"));
    fputs("}\n", out);
    json_decref(critical);
    return peet_file_commit(&file, error);
}

static void put_arc(FILE *out, size_t number_of_arc, const char *from, double source, const char *to, double target)
{
    fprintf(out, "   <arc id=\"a%zu\" source=\"%s%.0f\" target=\"%s%.0f\"/>\n", number_of_arc, from, source, to,
        target);
}

int peet_cli_export_pnml(const json_t *stats, const char *path, struct peet_error *error)
{
    const json_t *graph = graph_of(stats, error), *one;
    size_t i, arcs = 0, nodes = json_array_size(json_object_get(graph, "node_list"));
    char *preceded = calloc(nodes + 1, 1);
    struct peet_file file;
    FILE *out = graph && preceded && !peet_file_create(path, &file, error) ? file.stream : NULL;
    if (!out) {
        free(preceded);
        return !graph ? PEET_ENOTFOUND : preceded ? PEET_EIO : peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">\n"
          " <net id=\"run\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\">\n  <page id=\"page\">\n",
        out);
    json_array_foreach(json_object_get(graph, "node_list"), i, one)
    {
        fprintf(out, "   <transition id=\"t%.0f\"><name><text>", number(one, "id"));
        put_text(out, text(one, "task"), 0);
        fprintf(out, " %.0f: ", number(one, "index"));
        put_text(out, text(one, "function"), 0);
        fputs("</text></name></transition>\n", out);
    }
    json_array_foreach(json_object_get(graph, "edge_list"), i, one)
    {
        double to = number(one, "to");
        if (to >= 0 && to < (double)nodes)
            preceded[(size_t)to] = 1;
        fprintf(out, "   <place id=\"p%zu\"><name><text>", i);
        put_text(out, text(one, "kind"), 0);
        fputs("</text></name></place>\n", out);
        put_arc(out, arcs++, "t", number(one, "from"), "p", (double)i);
        put_arc(out, arcs++, "p", (double)i, "t", to);
    }
    for (size_t n = 0; n < nodes; n++)
        if (!preceded[n]) {
            fprintf(out,
                "   <place id=\"s%zu\"><name><text>begin</text></name><initialMarking><text>1</text></initialMarking></place>\n",
                n);
            put_arc(out, arcs++, "s", (double)n, "t", (double)n);
        }
    fputs("  </page>\n </net>\n</pnml>\n", out);
    free(preceded);
    return peet_file_commit(&file, error);
}
