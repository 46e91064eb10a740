/* SPDX-License-Identifier: Apache-2.0 */
/* The script of the page that `peet report --html` writes.  Data stand in #data; d3 (version 3) draws.  Names are only ever set as text. */
(function () {
"use strict";
var data = JSON.parse(document.getElementById("data").textContent), run = data.runs[0], drawn = [];
var STATES = ["nothing", "runs", "waits for a lock", "waits at a barrier", "waits for a signal", "waits for the world outside"];
var COLOURS = ["#e9edf1", "#2f7d4f", "#c8372d", "#e3a008", "#7b4fb5", "#8a6d4d"];
var PALETTE = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#ff9da6", "#9d755d", "#bab0ac", "#eeca3b", "#1f77b4", "#8c564b", "#17becf", "#7f7f7f", "#bcbd22", "#d67195"];
var WIDTH = Math.max(640, Math.min(1290, document.documentElement.clientWidth - 60)), main = d3.select("main"), nav = d3.select("nav");
var number = d3.format(",.0f"), si = d3.format(".3s"), tip = d3.select("body").append("div").attr("class", "tip");

function short(v) { return Math.abs(v) < 1000 ? String(+v.toPrecision(3)) : si(v); }
function number_of(x) { return typeof x === "string" ? +x : x || 0; }
function show_tip(text) { tip.style("display", "block").text(text).style("left", Math.min(d3.event.clientX + 14, innerWidth - 330) + "px").style("top", d3.event.clientY + 14 + "px"); }
function hide_tip() { tip.style("display", "none"); }
function with_tip(selection, text) { return selection.on("mousemove", function (d, i) { show_tip(text(d, i)); }).on("mouseout", hide_tip); }
function colour(i) { return PALETTE[i % PALETTE.length]; }

/* A part of the page: its title is in the list at the top, and what was drawn is remembered. */
function part(id, title, note) {
    var s = main.append("section").attr("id", id);
    s.append("h2").text(title);
    if (note) s.append("p").attr("class", "note").text(note);
    nav.append("a").attr("href", "#" + id).text(title);
    drawn.push(id);
    return s;
}
function legend(s, names, colours) {
    var l = s.append("div").attr("class", "legend").selectAll("span").data(names).enter().append("span");
    l.append("i").style("background", function (d, i) { return colours[i]; });
    l.append("span").text(String);
}

/* ---- tables that sort and search ---- */
function table(s, heads, rows, marks) {
    var t = s.append("div").attr("class", "scroll").append("table"), order = {}, body;
    t.append("thead").append("tr").selectAll("th").data(heads).enter().append("th").text(String).on("click", function (h, k) {
        order[k] = order[k] ? -order[k] : typeof value(rows[0], k) === "number" ? -1 : 1;
        body.selectAll("tr").sort(function (a, b) { return order[k] * d3.ascending(value(a, k), value(b, k)); });
    });
    function value(row, k) {
        var v = row && row[k];
        if (typeof v !== "string") return v === null || v === undefined ? -Infinity : v;
        return /^[-+0-9.,]+( ?%)?$/.test(v) ? parseFloat(v.replace(/,/g, "")) : v;
    }
    body = t.append("tbody");
    body.selectAll("tr").data(rows).enter().append("tr").selectAll("td").data(function (row) { return row; }).enter().append("td")
        .text(function (v) { return v === null || v === undefined ? "" : typeof v === "number" ? (Math.abs(v) < 1e15 && v % 1 ? v.toPrecision(4) : number(v)) : v; })
        .attr("title", function (v) { return typeof v === "string" && v.length > 40 ? v.slice(0, 2000) : null; })
        .attr("class", function (v, k) {
            if (typeof v === "string" && v !== "new" && !/^[-+0-9.=]/.test(v)) return "text";
            if (marks && marks[k] && typeof v === "string") return v[0] === "+" ? "more" : v[0] === "-" && v.length > 1 ? "less" : null;
            return null;
        });
    return t;
}
function search(text) {
    var found = 0;
    text = text.toLowerCase();
    d3.selectAll("tbody tr").classed("hidden", function () {
        var hit = !text || this.textContent.toLowerCase().indexOf(text) >= 0;
        found += hit;
        return !hit;
    });
    d3.selectAll(".flame rect").style("opacity", function (d) { return !text || d.name.toLowerCase().indexOf(text) >= 0 ? 1 : 0.25; });
    return found;
}

/* ---- bars ---- */
function bars(s, names, series, labels, colours, unit) {
    var margin = { left: 110, right: 20, top: 6, bottom: 26 }, height = Math.max(40, names.length * 24), width = Math.min(WIDTH, 620);
    var svg = s.append("svg").attr("width", width).attr("height", height + margin.top + margin.bottom);
    var most = d3.max(names, function (n, i) { return d3.sum(series, function (v) { return v[i]; }); }) || 1;
    var x = d3.scale.linear().domain([0, most]).range([margin.left, width - margin.right]);
    legend(s, labels, colours);
    names.forEach(function (name, i) {
        var at = 0, g = svg.append("g").attr("transform", "translate(0," + (margin.top + i * 24) + ")");
        g.append("text").attr("x", margin.left - 8).attr("y", 14).attr("text-anchor", "end").text(name.length > 16 ? name.slice(0, 15) + "…" : name);
        series.forEach(function (v, k) {
            with_tip(g.append("rect").attr("x", x(at)).attr("y", 2).attr("height", 18).attr("width", Math.max(0, x(at + v[i]) - x(at))).attr("fill", colours[k]),
                function () { return name + "\n" + labels[k] + ": " + (v[i] % 1 ? v[i].toPrecision(4) : number(v[i])) + " " + unit; });
            at += v[i];
        });
    });
    svg.append("g").attr("class", "axis").attr("transform", "translate(0," + (height + margin.top) + ")").call(d3.svg.axis().scale(x).orient("bottom").ticks(6).tickFormat(short));
}

/* ---- curves over time; the wheel zooms, dragging moves ---- */
function curves(s, series, labels, colours, stacked, unit) {
    var margin = { left: 56, right: 12, top: 8, bottom: 26 }, height = 190, id = "c" + drawn.length + labels.length;
    var svg = s.append("svg").attr("width", WIDTH).attr("height", height + margin.top + margin.bottom);
    var end = d3.max(series, function (v) { return v.length ? v[v.length - 1][0] : 0; }) || 1, x = d3.scale.linear().domain([0, end]).range([margin.left, WIDTH - margin.right]);
    var layers = series.map(function (v) { return v.map(function (p) { return { x: p[0], y: p[1], y0: 0 }; }); });
    if (stacked && layers.length) d3.layout.stack()(layers);
    var most = d3.max(layers, function (l) { return d3.max(l, function (p) { return p.y0 + p.y; }); }) || 1;
    var y = d3.scale.linear().domain([0, most]).nice().range([height + margin.top, margin.top]);
    svg.append("clipPath").attr("id", id).append("rect").attr("x", margin.left).attr("y", margin.top).attr("width", WIDTH - margin.left - margin.right).attr("height", height);
    var area = d3.svg.area().interpolate("step-after").x(function (p) { return x(p.x); }).y0(function (p) { return y(p.y0); }).y1(function (p) { return y(p.y0 + p.y); });
    var line = d3.svg.line().interpolate("step-after").x(function (p) { return x(p.x); }).y(function (p) { return y(p.y); });
    var paths = svg.append("g").attr("clip-path", "url(#" + id + ")").selectAll("path").data(layers).enter().append("path")
        .attr("fill", function (d, i) { return stacked ? colours[i] : "none"; }).attr("stroke", function (d, i) { return stacked ? "none" : colours[i]; }).attr("stroke-width", 1.4);
    var axis = d3.svg.axis().scale(x).orient("bottom").ticks(8).tickFormat(short), gx = svg.append("g").attr("class", "axis").attr("transform", "translate(0," + (height + margin.top) + ")");
    svg.append("g").attr("class", "axis").attr("transform", "translate(" + margin.left + ",0)").call(d3.svg.axis().scale(y).orient("left").ticks(5));
    function draw() { paths.attr("d", stacked ? area : line); gx.call(axis); }
    svg.call(d3.behavior.zoom().x(x).scaleExtent([1, 2000]).on("zoom", draw));
    svg.append("text").attr("x", margin.left + 4).attr("y", margin.top + 10).text(unit);
    legend(s, labels, colours);
    draw();
}

/* ---- the time line: rows of processors or contexts, on a canvas ---- */
function timeline(s, t) {
    var height = 15, left = 92, view = [0, t.end], kind = "processors", canvas = s.append("canvas"), context = canvas.node().getContext("2d");
    var buttons = s.append("div").attr("class", "buttons"), axis_svg = s.append("svg").attr("width", WIDTH).attr("height", 24);
    var x = d3.scale.linear().domain(view).range([left, WIDTH - 8]), axis = axis_svg.append("g").attr("class", "axis");
    ["processors", "contexts"].forEach(function (k) { buttons.append("button").text(k).on("click", function () { kind = k; draw(); }); });
    buttons.append("button").text("all of the run").on("click", function () { zoom.scale(1).translate([0, 0]); x.domain([0, t.end]); zoom.x(x); draw(); });
    legend(s, STATES.slice(0), COLOURS);
    var zoom = d3.behavior.zoom().x(x).scaleExtent([1, 1e6]).on("zoom", draw);
    function rows() { return t[kind]; }
    function draw() {
        var list = rows(), ratio = window.devicePixelRatio || 1, w = WIDTH, h = Math.max(1, list.length) * height, d = x.domain();
        canvas.attr("width", w * ratio).attr("height", h * ratio).style("width", w + "px").style("height", h + "px");
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.fillStyle = "#fff";
        context.fillRect(0, 0, w, h);
        context.font = "11px system-ui, sans-serif";
        list.forEach(function (row, i) {
            var y = i * height, level = row.levels[row.levels.length - 1];
            context.fillStyle = COLOURS[0];
            context.fillRect(left, y + 1, w - left - 8, height - 2);
            if (row.slices) {
                row.slices.forEach(function (v) {
                    if (v[1] < d[0] || v[0] > d[1]) return;
                    var a = Math.max(left, x(v[0])), b = Math.min(w - 8, x(v[1]));
                    context.fillStyle = kind === "processors" ? colour(v[3]) : COLOURS[v[2]];
                    context.fillRect(a, y + 1, Math.max(0.6, b - a), height - 2);
                });
            } else {
                if ((d[1] - d[0]) / t.end > 0.6) level = row.levels[0];
                var n = level.length, width = t.end / n, from = Math.max(0, Math.floor(d[0] / width)), to = Math.min(n, Math.ceil(d[1] / width));
                for (var k = from, next; k < to; k = next) {
                    for (next = k + 1; next < to && level[next] === level[k]; next++) ;
                    if (level[k] !== "0") {
                        context.fillStyle = COLOURS[+level[k]];
                        context.fillRect(Math.max(left, x(k * width)), y + 1, Math.max(0.6, Math.min(w - 8, x(next * width)) - Math.max(left, x(k * width))), height - 2);
                    }
                }
            }
            context.fillStyle = "#fff";
            context.fillRect(0, y, left, height);
            context.fillStyle = "#1b1f24";
            context.fillText((kind === "processors" ? "processor " : "context ") + row.number, 4, y + 11);
        });
        axis.call(d3.svg.axis().scale(x).orient("bottom").ticks(8).tickFormat(short));
    }
    canvas.call(zoom).on("mousemove.tip", function () {
        var p = d3.mouse(this), row = rows()[Math.floor(p[1] / height)], at = x.invert(p[0]), hit = null;
        if (row && row.slices) row.slices.forEach(function (v) { if (v[0] <= at && at < v[1]) hit = v; });
        if (!row || p[0] < left) return hide_tip();
        show_tip("cycle " + number(at) + (hit ? "\n" + (kind === "processors" ? "context " + hit[3] : STATES[hit[2]] + (hit[4] ? ": " + hit[4] : "")) + "\n" + number(hit[1] - hit[0]) + " cycles" : ""));
    }).on("mouseout.tip", hide_tip);
    draw();
    return { zoom_to: function (a, b) { x.domain([a, b]); zoom.x(x); draw(); return x.domain(); }, colour_at: function (px, py) { return context.getImageData(px, py, 1, 1).data; } };
}

/* ---- the flame graph; a click zooms ---- */
function flame(s, profile, measure) {
    var nodes = profile.paths.map(function (p) { return { name: p.function, self: number_of(p[measure]), children: [] }; }), rows = 0, height = 17, width = WIDTH;
    profile.paths.forEach(function (p, i) { if (i && nodes[p.parent]) nodes[p.parent].children.push(nodes[i]); });
    function weigh(n) { n.value = n.self + d3.sum(n.children, weigh); return n.value; }
    weigh(nodes[0]);
    function place(n, at, depth) {
        n.x0 = at; n.depth = depth; rows = Math.max(rows, depth + 1);
        n.children.sort(function (a, b) { return d3.descending(a.value, b.value) || d3.ascending(a.name, b.name); })
            .forEach(function (c) { place(c, at, depth + 1); at += c.value; });
    }
    place(nodes[0], 0, 0);
    var least = nodes[0].value / 4000, shown = nodes.filter(function (n) { return n.value >= least && n.value > 0; });
    var x = d3.scale.linear().domain([0, nodes[0].value || 1]).range([0, width]), svg = s.append("svg").attr("class", "flame").attr("width", width).attr("height", rows * height + 2);
    var g = svg.selectAll("g").data(shown).enter().append("g");
    with_tip(g.append("rect").attr("height", height - 1).attr("y", function (n) { return n.depth * height; }).attr("rx", 2)
        .attr("fill", function (n) { var h = 0; for (var i = 0; i < Math.min(n.name.length, 40); i++) h = (h * 31 + n.name.charCodeAt(i)) % 360; return "hsl(" + (10 + h % 45) + ",78%," + (58 + h % 14) + "%)"; })
        .on("click", function (n) { zoom_to(n); }), function (n) { return n.name.slice(0, 600) + "\n" + number(n.value) + " " + measure + ", itself " + number(n.self); });
    var label = g.append("text").attr("dy", 12).attr("y", function (n) { return n.depth * height; });
    function zoom_to(n) {
        x.domain([n.x0, n.x0 + n.value]);
        draw();
    }
    function draw() {
        g.selectAll("rect").attr("x", function (n) { return clamp(x(n.x0)); }).attr("width", function (n) { return Math.max(0, clamp(x(n.x0 + n.value)) - clamp(x(n.x0))); });
        label.attr("x", function (n) { return clamp(x(n.x0)) + 4; }).text(function (n) {
            var room = Math.floor((clamp(x(n.x0 + n.value)) - clamp(x(n.x0))) / 6.6) - 1;
            return room < 3 ? "" : n.name.length > room ? n.name.slice(0, room - 1) + "…" : n.name;
        });
    }
    function clamp(v) { return Math.max(0, Math.min(width, v)); }
    draw();
    return { zoom: function () { var n = shown[shown.length - 1]; zoom_to(n); return x.domain(); } };
}

/* ---- a matrix ---- */
function matrix(s, n, entries, row_name, unit, names) {
    function said(i) { return names ? names[i].slice(0, 60) : i; }
    var size = Math.max(10, Math.min(30, Math.floor(520 / n))), left = 90, svg = s.append("svg").attr("width", left + n * size + 10).attr("height", 40 + n * size);
    var most = d3.max(entries, function (e) { return e[2]; }) || 1, shade = d3.scale.sqrt().domain([0, most]).range(["#eef3f8", "#0b3d91"]);
    d3.range(n).forEach(function (i) {
        if (n <= 32 || i % 8 === 0) {
            svg.append("text").attr("x", left - 6).attr("y", 32 + i * size + size * 0.7).attr("text-anchor", "end").text(row_name + " " + i);
            svg.append("text").attr("x", left + i * size + size / 2).attr("y", 24).attr("text-anchor", "middle").text(i);
        }
    });
    svg.append("rect").attr("x", left).attr("y", 30).attr("width", n * size).attr("height", n * size).attr("fill", "#f4f6f8");
    with_tip(svg.selectAll("rect.cell").data(entries).enter().append("rect").attr("class", "cell").attr("x", function (e) { return left + e[1] * size; }).attr("y", function (e) { return 30 + e[0] * size; })
        .attr("width", size - 1).attr("height", size - 1).attr("fill", function (e) { return shade(e[2]); }), function (e) { return "from " + said(e[0]) + " to " + said(e[1]) + ": " + number(e[2]) + " " + (unit || "lines"); });
}

/* ---- references in space and time: rows of addresses that were touched, against windows of time; the darker the more ---- */
function space_time(s, r) {
    var left = 190, count = r.rows.length, each = Math.max(2, Math.min(14, Math.floor(560 / count))), height = count * each, what = 0;
    var buttons = s.append("div").attr("class", "buttons"), canvas = s.append("canvas"), context = canvas.node().getContext("2d");
    var x = d3.scale.linear().domain([0, r.windows * r.window_cycles]).range([left, WIDTH - 8]), y = d3.scale.linear().domain([0, count]).range([0, height]);
    var axis = s.append("svg").attr("width", WIDTH).attr("height", 24).append("g").attr("class", "axis");
    function value(row, k) { return what === 1 ? row.reads[k] : what === 2 ? row.writes[k] : row.reads[k] + row.writes[k]; }
    var most = d3.max(r.rows, function (row) { return d3.max(row.reads, function (v, k) { return v + row.writes[k]; }); }) || 1;
    var shade = d3.scale.log().domain([1, Math.max(2, most)]).range(["#cfe3f5", "#08264d"]).clamp(true);
    ["reads and writes", "reads", "writes"].forEach(function (name, i) { buttons.append("button").text(name).on("click", function () { what = i; draw(); }); });
    buttons.append("button").text("all").on("click", function () { show([0, r.windows * r.window_cycles], [0, count]); });
    var zoom = d3.behavior.zoom().x(x).y(y).scaleExtent([1, 1000]).on("zoom", draw);
    function show(a, b) { x.domain(a); y.domain(b); zoom.x(x).y(y); draw(); }
    function name_of(row) { return row.structures.join(", "); }
    function draw() {
        var ratio = window.devicePixelRatio || 1, last = -20, said = null;
        canvas.attr("width", WIDTH * ratio).attr("height", height * ratio).style("width", WIDTH + "px").style("height", height + "px");
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.fillStyle = "#fff";
        context.fillRect(0, 0, WIDTH, height);
        context.fillStyle = "#f4f6f8";
        context.fillRect(left, 0, WIDTH - 8 - left, height);
        var from = Math.max(0, Math.floor(x.domain()[0] / r.window_cycles)), to = Math.min(r.windows, Math.ceil(x.domain()[1] / r.window_cycles));
        r.rows.forEach(function (row, i) {
            var top = y(i), bottom = y(i + 1);
            if (bottom < 0 || top > height) return;
            for (var k = from; k < to; k++) {
                var v = value(row, k);
                if (!v) continue;
                context.fillStyle = shade(v);
                context.fillRect(x(k * r.window_cycles), top, Math.max(0.7, x((k + 1) * r.window_cycles) - x(k * r.window_cycles)), Math.max(0.7, bottom - top));
            }
        });
        context.fillStyle = "#fff";
        context.fillRect(0, 0, left, height);
        context.font = "11px system-ui, sans-serif";
        context.fillStyle = "#1b1f24";
        r.rows.forEach(function (row, i) {
            var name = name_of(row) || "0x" + row.address.toString(16);
            if (name === said || y(i) < 0 || y(i) > height || y(i) - last < 12) return;
            said = name; last = y(i);
            context.fillText(name.length > 30 ? name.slice(0, 29) + "…" : name, 4, y(i) + 10);
        });
        axis.call(d3.svg.axis().scale(x).orient("bottom").ticks(8).tickFormat(short));
    }
    canvas.call(zoom).on("mousemove.tip", function () {
        var p = d3.mouse(this), row = r.rows[Math.floor(y.invert(p[1]))], k = Math.floor(x.invert(p[0]) / r.window_cycles);
        if (!row || p[0] < left || k < 0 || k >= r.windows) return hide_tip();
        show_tip("0x" + row.address.toString(16) + ", " + number(r.granule_bytes) + " bytes" + (name_of(row) ? "\n" + name_of(row).slice(0, 300) : "") + "\nfrom cycle " + number(k * r.window_cycles) +
            "\n" + number(row.reads[k]) + " reads, " + number(row.writes[k]) + " writes");
    }).on("mouseout.tip", hide_tip);
    draw();
    return { zoom_to: function (a, b) { show(a, [0, count]); return x.domain(); }, all: function () { show([0, r.windows * r.window_cycles], [0, count]); },
        drawn: function () {
            var d = context.getImageData(0, 0, canvas.node().width, canvas.node().height).data, ratio = window.devicePixelRatio || 1, dark = 0;
            r.rows.forEach(function (row, i) {
                for (var k = 0; k < r.windows; k++) {
                    var px = Math.floor((x((k + 0.5) * r.window_cycles)) * ratio), py = Math.floor(y(i + 0.5) * ratio), at = 4 * (py * canvas.node().width + px);
                    if (value(row, k) ? d[at] < 0xd8 : d[at] > 0xec) dark++;
                }
            });
            return dark / (r.rows.length * r.windows);
        } };
}

/* ---- annotated source ---- */
function source(s, profile, files) {
    var names = Object.keys(files), by = {}, measure = "cycles", box, pick;
    profile.lines.forEach(function (l) { var f = by[l.file] = by[l.file] || {}; (f[l.line] = f[l.line] || []).push(l); });
    function sum(list, key) { return d3.sum(list || [], function (l) { return number_of(l[key]); }); }
    names.sort(function (a, b) { return sum([].concat.apply([], d3.values(by[b] || {})), "cycles") - sum([].concat.apply([], d3.values(by[a] || {})), "cycles"); });
    pick = s.append("p").append("select").on("change", function () { draw(names[this.selectedIndex]); });
    pick.selectAll("option").data(names).enter().append("option").text(String);
    box = s.append("div").attr("class", "source");
    function draw(name) {
        var most = 1, lines = files[name];
        lines.forEach(function (l, i) { most = Math.max(most, sum((by[name] || {})[i + 1], measure)); });
        box.selectAll("div").remove();
        var rows = box.selectAll("div").data(lines).enter().append("div").style("background", function (l, i) {
            var v = sum((by[name] || {})[i + 1], measure); return v ? "rgba(227,120,20," + (0.08 + 0.55 * v / most).toFixed(3) + ")" : null;
        });
        rows.append("span").text(function (l, i) { var v = sum((by[name] || {})[i + 1], measure); return v ? number(v) : ""; });
        rows.append("span").text(function (l, i) { var v = sum((by[name] || {})[i + 1], "instructions"); return v ? number(v) : ""; });
        rows.append("span").style("width", "4em").text(function (l, i) { return i + 1; });
        rows.append("code").text(String);
    }
    if (names.length) draw(names[0]);
}

/* ---- the page ---- */
function cards(s, pairs) {
    var c = s.append("div").attr("class", "cards").selectAll("div").data(pairs).enter().append("div").attr("class", "card");
    c.append("b").text(function (p) { return p[1]; });
    c.append("span").text(function (p) { return p[0]; });
}
function windows_of(node, out) {
    if (!node || typeof node !== "object") return out;
    if (Array.isArray(node.windows)) node.windows.forEach(function (w) {
        Object.keys(w).forEach(function (k) { if (k !== "cycle" && typeof w[k] === "number") (out[k] = out[k] || []).push([w.cycle, w[k]]); });
    });
    return out;
}
var hooks = {};
function page() {
    var f = run.figures, s = run.stats, all = f.run && f.run.all || {}, x, keys;
    d3.select("h1").text("peet: " + run.title);
    document.title = "peet: " + run.title.slice(0, 80);
    x = part("summary", "The run");
    cards(x, [["cycles", number(all.cycles || 0)], ["instructions", number(all.instructions || 0)], ["instructions for each cycle", (all.instructions_per_cycle || 0).toFixed(3)],
        ["processors busy", ((all.busy_share || 0) * 100).toFixed(1) + " %"], ["stalled", ((all.stalled_share || 0) * 100).toFixed(1) + " %"], ["idle", ((all.idle_share || 0) * 100).toFixed(1) + " %"]]);
    if (data.compare) {
        x = part("compare", "The runs side by side", "Each run with its change from the first: " + data.runs.map(function (r) { return r.folder; }).join(", "));
        data.compare.forEach(function (t) {
            x.append("h2").text(t.title);
            var marks = t.columns.map(function (c) { return c === "change"; });
            table(x, t.columns, t.rows, marks);
        });
    }
    if (run.timeline) {
        x = part("timeline", "Time line", "The wheel zooms, dragging moves. On processors, colours tell contexts apart where there is room for slices.");
        hooks.timeline = timeline(x, run.timeline);
        x = part("utilisation", "Contexts over time", "How many contexts ran and waited, as means over windows.");
        curves(x, run.timeline.utilisation.map(function (v) { return v.map(function (y, i) { return [i * run.timeline.end / v.length, y]; }); }), STATES.slice(1), COLOURS.slice(1), true, "contexts");
    }
    x = part("stacks", "Where the time went");
    if (f.cycles) {
        keys = Object.keys(f.cycles).filter(function (k) { return k !== "idle" && f.cycles[k].cycles > 0; });
        var kept = data.runs.filter(function (r) { return r.figures.cycles; });
        bars(x, kept.map(function (r) { return r.folder; }), keys.map(function (k) {
            return kept.map(function (r) { return r.figures.cycles && r.figures.cycles[k] ? r.figures.cycles[k].cycles / (r.figures.run.all.instructions || 1) : 0; });
        }), keys, keys.map(function (k, i) { return colour(i); }), "cycles for each instruction");
    }
    keys = Object.keys(f.processor || {}).slice(0, 64);
    bars(x, keys.map(function (k) { return "processor " + k; }), ["busy_cycles", "stalled_cycles", "idle_cycles"].map(function (m) { return keys.map(function (k) { return f.processor[k][m] || 0; }); }),
        ["busy", "stalled", "idle"], ["#2f7d4f", "#e3a008", "#d8dde3"], "cycles");
    if (f.level) {
        var kinds = {}, names = Object.keys(f.level);
        names.forEach(function (l) { Object.keys(f.level[l]).forEach(function (k) { if (/_misses$/.test(k) && f.level[l][k]) kinds[k] = 1; }); });
        kinds = Object.keys(kinds);
        x = part("misses", "Misses by level and kind", "For 1000 instructions.");
        var per = 1000 / (all.instructions || 1);
        if (kinds.length) bars(x, names, kinds.map(function (k) { return names.map(function (l) { return (f.level[l][k] || 0) * per; }); }), kinds.map(function (k) { return k.replace(/_misses$/, "").replace(/_/g, " "); }), kinds.map(function (k, i) { return colour(i); }), "for 1000 instructions");
        else bars(x, names, [names.map(function (l) { return f.level[l].misses * per; })], ["misses"], [colour(0)], "for 1000 instructions");
    }
    var w = windows_of(s.machine && s.machine.memory, windows_of(s.machine && s.machine.bus, windows_of(s.machine, {})));
    keys = Object.keys(w);
    if (keys.length) {
        x = part("windows", "The machine over time");
        curves(x, keys.map(function (k) { return w[k]; }), keys.map(function (k) { return k.replace(/_/g, " "); }), keys.map(function (k, i) { return colour(i); }), false, "for each window");
    }
    if (s.profile && s.profile.transfers && s.profile.transfers.length) {
        x = part("communication", "Who communicates with whom", "Lines that one processor's cache gave to another's: from the row to the column.");
        matrix(x, s.hw, s.profile.transfers.map(function (t) { return [t.from, t.to, t.lines]; }), "from");
    }
    if (s.references && s.references.rows.length) {
        x = part("references", "References in space and time", "Addresses that were touched against time: the darker, the more reads and writes. A row is " +
            number(s.references.granule_bytes) + " bytes; what nobody touches is left out. The wheel zooms, dragging moves.");
        hooks.references = space_time(x, s.references);
    }
    if (s.structures && s.structures.length) {
        x = part("structures", "Data structures", "What they are, what they cost, how they are shared.");
        var levels = (s.structures[0].levels || []).map(function (l, i) { return (s.levels[i] || {}).name || "L" + (i + 1); });
        table(x, ["structure", "type", "reads", "writes"].concat(levels.map(function (l) { return l + " misses"; }), ["stall cycles", "sharing", "false sharing misses"]), s.structures.map(function (d) {
            return [d.name, d.type || "", number_of(d.reads), number_of(d.writes)].concat((d.levels || []).map(function (l) { return number_of(l.misses); }), [number_of(d.stall_cycles), (d.sharing || {})["class"] || "", number_of((d.sharing || {}).false_sharing_misses)]);
        }));
        if (s.collisions && s.collisions.length) {
            x.append("h2").text("Fields that collide in a line");
            var rows = [];
            s.collisions.forEach(function (l) { (l.accesses || []).forEach(function (a) { rows.push([a.structure + (a.field ? " " + a.field : ""), l.address, a.processor, a.access, a.function, (a.file || "").replace(/.*\//, "") + ":" + a.line, number_of(a.times), number_of(l.false_sharing_misses)]); }); });
            table(x, ["field", "line", "processor", "access", "function", "where", "times", "false sharing misses of the line"], rows);
        }
    }
    if (s.profile && s.profile.paths && s.profile.paths.length) {
        var measure = number_of(s.profile.totals.cycles) ? "cycles" : "instructions";
        x = part("flame", "Flame graph", "Call paths by " + measure + ". A click zooms; a click on the top shows all. Searching dims what does not match.");
        hooks.flame = flame(x, s.profile, measure);
    }
    if (s.profile) {
        x = part("functions", "Functions");
        table(x, ["function", "file", "calls", "cycles", "inclusive cycles", "instructions", "inclusive instructions", "reads", "writes", "stall cycles", "waited cycles"], s.profile.functions.map(function (p) {
            return [p.name, (p.file || "").replace(/.*\//, "") + ":" + p.line].concat(["calls", "cycles", "inclusive_cycles", "instructions", "inclusive_instructions", "reads", "writes", "stall_cycles", "waited_cycles"].map(function (k) { return number_of(p[k]); }));
        }).sort(function (a, b) { return b[3] - a[3]; }));
        if (Object.keys(run.source).length) {
            x = part("source", "Annotated source", "Cycles and instructions of each line.");
            source(x, s.profile, run.source);
        }
    }
    if (s.graph) {
        x = part("parallelism", "Parallelism of the program", "With as many processors as it can use. Work " + number(s.graph.work_cycles) + " cycles, span " + number(s.graph.span_cycles) + ", parallelism " + s.graph.parallelism.toPrecision(4) + ".");
        curves(x, [s.graph.parallelism_over_time.map(function (y, i) { return [i * s.graph.window_cycles, y]; })], ["nodes that run at once"], [colour(0)], true, "");
        if (s.graph.task_data && s.graph.task_data.length) {
            x.append("h2").text("Data that tasks hand to each other");
            var place = {}, tasks = [];
            s.graph.task_data.forEach(function (d) { [d.from, d.to].forEach(function (t) { if (place["t" + t] === undefined) { place["t" + t] = tasks.length; tasks.push(t); } }); });
            if (tasks.length <= 64) matrix(x, tasks.length, s.graph.task_data.map(function (d) { return [place["t" + d.from], place["t" + d.to], number_of(d.bytes)]; }), "task", "bytes", tasks);
            table(x, ["from", "to", "bytes"], s.graph.task_data.map(function (d) { return [d.from, d.to, number_of(d.bytes)]; }).sort(function (a, b) { return b[2] - a[2]; }));
        }
        table(x, ["function on the critical path", "instructions"], s.graph.critical_functions.map(function (c) { return [c.function, number_of(c.instructions)]; }));
    }
    run.tables.forEach(function (t, i) {
        if (i === 0) x = part("tables", "Tables");
        x.append("h2").text(t.title);
        table(x, t.columns, t.rows);
    });
}

/* What a test asks for: each picture is there, zooming and searching do what they should. */
function selftest() {
    var out = { drawn: drawn, empty: [], zoom: true, search: true };
    drawn.forEach(function (id) { if (!d3.select("#" + id).selectAll("svg *, canvas, td, .card, code").size()) out.empty.push(id); });
    if (hooks.timeline) {
        var d = hooks.timeline.zoom_to(run.timeline.end * 0.25, run.timeline.end * 0.5);
        out.zoom = Math.abs(d[0] - run.timeline.end * 0.25) < 1 && Math.abs(d[1] - run.timeline.end * 0.5) < 1;
        hooks.timeline.zoom_to(0, run.timeline.end);
    }
    if (hooks.references) {
        out.cells = hooks.references.drawn();
        d = hooks.references.zoom_to([10, 20]);
        out.zoom = out.zoom && d[0] === 10 && d[1] === 20;
        hooks.references.all();
    }
    if (hooks.flame) { d = hooks.flame.zoom(); out.zoom = out.zoom && d[1] > d[0]; }
    var rows = d3.selectAll("tbody tr").size(), none = search("nothing is called so \u0001"), every = search("");
    out.search = rows > 0 && none === 0 && every === rows && d3.selectAll("tr.hidden").size() === 0;
    var head = d3.select("th").node(), first;
    if (head) { head.dispatchEvent(new MouseEvent("click")); first = d3.select("tbody tr td").text(); head.dispatchEvent(new MouseEvent("click")); }
    out.sorted = first !== undefined;
    out.injected = !!window.injected || d3.selectAll("main script, main img").size() > 0;
    document.body.appendChild(document.createElement("pre")).id = "selftest";
    document.getElementById("selftest").textContent = JSON.stringify(out);
}
if (data.runs.length > 1) d3.select("header").append("select").on("change", function () {
    run = data.runs[this.selectedIndex]; drawn = []; hooks = {}; main.html(""); nav.html(""); page();
}).selectAll("option").data(data.runs).enter().append("option").text(function (r) { return r.folder; });
d3.select("header").append("input").attr("type", "search").attr("placeholder", "search tables and flame graph").on("input", function () { search(this.value); });
page();
if (location.hash === "#selftest") selftest();
})();
