# Completes ./lab in bash: commands, labs, and options, variants and studies of a lab that has been built.
# Use: . tools/completion.bash (or that line in ~/.bashrc, with the whole path).
# shellcheck shell=bash

# What may stand in a word of ./lab, one per line: _gpulab_words ROOT WORD..., the words before it.
_gpulab_words() {
    local root=$1 program folder previous=${*: -1}
    [[ $previous != = ]] || previous=${*: -2:1} # bash splits --variant=a into three words
    shift
    if [[ $# -eq 1 ]]; then
        "$root/lab" help | awk '/^  [a-z]/ && !seen[$1]++ { print $1 }'
        return
    fi
    case $2 in
        run | explain | profile | test | handout | grade | package-autograder | package-classroom)
            if [[ $# -eq 2 ]]; then
                for folder in "$root"/labs/[0-9][0-9]_*; do
                    folder=${folder##*/}
                    echo "${folder#*_}"
                done
                [[ $2 == test ]] || return # which takes options without a lab too
            fi ;;
    esac
    if [[ $2 =~ ^(start|test|setup)$ && $previous != --variant ]]; then
        "$root/lab" "$2" --help | grep -oE -- '(^|[^-[:alnum:]])--?[a-z]+' | grep -oE -- '-.*' | awk '!seen[$0]++'
    fi
    if [[ $2 == instructor && $# -eq 2 ]]; then printf '%s\n' unlock check seal; fi
    if [[ $2 == explain && $previous != --* ]]; then
        printf '%s\n' --variant --compare --warp --page --json --cuda
    fi
    if [[ $2 == profile && $previous != --* ]]; then printf '%s\n' --variant --baseline --page --json; fi
    [[ $2 == run || ($2 =~ ^(test|explain|profile)$ && $previous == --variant) ]] || return 0
    program=$root/build/default/bin/$3
    [[ -x $program ]] || return 0
    case $previous in
        --variant) "$program" --list | awk '/^[a-z]/ { print $1 }' ;;
        --study) "$program" --study list | awk '/^[a-z]/ { print $1 }' ;;
        --recorded) (cd "$root/docs/results" && printf '%s\n' h*) ;;
        --backend) printf '%s\n' cpu opencl cuda ;;
        --*)
            if "$program" --help | grep -qE -- "^ *(-[a-z],)?$previous [A-Z]"; then return; fi ;;& # a value: perhaps a file
        *) "$program" --help | grep -oE '^ *(-[a-z],)?--[a-z0-9-]+' | grep -oE -- '--.*' ;;
    esac
}

_gpulab() {
    local root words IFS=$'\n' first="" word=${COMP_WORDS[COMP_CWORD]}
    root=$(cd "$(dirname "${COMP_WORDS[0]/#\~/$HOME}")" 2>/dev/null && pwd) || return
    words=$(_gpulab_words "$root" "${COMP_WORDS[@]:0:COMP_CWORD}" 2>/dev/null)
    if [[ $word == *,* ]]; then # --variant a,b
        first=${word%,*},
        word=${word##*,}
    fi
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -P "$first" -W "$words" -- "$word"))
}
complete -o default -F _gpulab lab ./lab
