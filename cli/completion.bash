# SPDX-License-Identifier: Apache-2.0
# Completion for bash.  Verbs, options, modules and their parameters come from peet itself, so that nothing is listed twice.

# _peet_offer WORDS: those that begin as the word at hand does
_peet_offer()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "${cur:-}")
}

# _peet_modules KIND: the modules of a kind, then the parameters of the one that is named
_peet_modules()
{
    local spec=${cur#--*=} name=${cur%%,*}
    if [[ $spec == *,* ]]; then
        name=${spec%%,*}
        mapfile -t COMPREPLY < <("${words[0]}" sims "$name" 2>/dev/null | awk '/^  [a-z]/ { print $1 "=" }' |
            while read -r parameter; do compgen -W "${cur%,*},$parameter" -- "$cur"; done)
        compopt -o nospace
    elif [[ $spec == */* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$spec")
    else
        _peet_offer "$("${words[0]}" sims 2>/dev/null | awk -v kind="$1" '$2 == kind { print $1 }')"
    fi
}

# _peet_value OPTION: what may follow it.  Returns: 1 if nothing is known of it
_peet_value()
{
    case $1 in
    --machine | -m | --follow) _peet_modules machine ;;
    --observe | -o) _peet_modules observer ;;
    --consistency) _peet_modules model ;;
    --policy | -p) _peet_offer "fcfs rr affinity" ;;
    --winner) _peet_offer "fcfs lifo random" ;;
    --schedule) _peet_offer "static dynamic guided" ;;
    --granularity | -g) _peet_offer "sync block ref" ;;
    --lock-model) _peet_offer "none tas ttas ticket mcs" ;;
    --ranges) _peet_offer "on off" ;;
    --foreign) _peet_offer "record ranges off auto" ;;
    --roi) _peet_offer "all only" ;;
    --consistency-sync) _peet_offer "ref sync" ;;
    --explore) _peet_offer "all" ;;
    --until) _peet_offer "failure" ;;
    --plot | --html | --csv | --callgrind | --collapsed | --trace | --dot | --pnml) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    --output | -d | --from | --expect) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    --config | -c) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    *) return 1 ;;
    esac
}

_peet()
{
    local -a words=("${COMP_WORDS[@]}")
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _peet_offer "$("${words[0]}" help | awk '/^  [a-z]/ { print $1 }') --help --version"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do # behind -- stands a program of the user's
        if [[ ${words[i]} == -- ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
        fi
    done
    [[ $previous != = ]] || previous=${COMP_WORDS[COMP_CWORD - 2]} # bash takes --option=value apart
    [[ $cur != = ]] || cur=
    _peet_value "$previous" && return
    case ${words[1]}:$cur in
    help:*) _peet_offer "$("${words[0]}" help | awk '/^  [a-z]/ { print $1 }')" ;;
    sims:[!-]* | sims:) _peet_offer "$("${words[0]}" sims | awk '{ print $1 }')" ;;
    *:-*) _peet_offer "$("${words[0]}" "${words[1]}" --help 2>/dev/null | grep -o -E -- '^ +(-[a-zA-Z?], +)?--[a-z-]+' | grep -o -e '--[a-z-]*')" ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    esac
}
complete -o filenames -F _peet peet
