#!/usr/bin/env bash
# What Doxygen reads in place of a source file: filter.sh ROOT FILE. (Pages go through page.py.) Lines stay where they
# are, so that links to them hold.
# - A file's opening comment becomes its description, with a link back to the page of its lab.
# - A rung's page shows the rung: its source, without the opening comment, is added to the description.
# - There the marks of an exercise say what they mean; what students receive in place of its lines is left out.
# - The words of OpenCL C that C++ has not are taken out of .cl files.
set -euo pipefail
root=$1 file=$2
path=${file#"$root"/}
lab=""
if [[ $path =~ ^labs/([0-9]+_[a-z0-9_]+)/ ]]; then lab=${BASH_REMATCH[1]}; fi
name=""
if [[ $lab && $(head -c 2 "$root/labs/$lab/README.md" 2>/dev/null) == "# " ]]; then name=${lab#*_}; fi # has it its page yet?

describe() { # the comment that a file begins with
    awk -v path="$path" -v page="${name:+ (@ref lab_$name \"The lab.\")}" '
        function escaped(text,   parts, n, i) { # what Doxygen would take for a command, but not inside backquotes
            n = split(text, parts, "`")
            text = ""
            for (i = 1; i <= n; i++) {
                if (i % 2) gsub(/[\\@<>#&%$|]|::/, "\\\\&", parts[i])
                text = text (i > 1 ? "`" : "") parts[i]
            }
            return text
        }
        function begun(text) { # "Changed:" and "Limit:" begin a line of their own
            if (match(text, /^(Changed|Limit)[^:.]*:/)) text = (blank ? "" : "<br/>") "<b>" substr(text, 1, RLENGTH) "</b>" substr(text, RLENGTH + 1)
            return text
        }
        NR == 1 && /^\/\/ / { inside = 1; sub(/^\/\/ /, ""); held = "/// @file " path " @brief " escaped($0); next }
        inside && /^\/\// { print held; blank = held ~ /^\/\/\/ *$/; sub(/^\/\/ ?/, ""); held = "/// " begun(escaped($0)); next }
        inside { print held page; inside = 0 }
        { print }
        END { if (inside) print held page }' "$1"
}

source_of() { # the file after its opening comment, as a second part of its description
    local host=${path%.cl}.cpp
    printf '\n/// @file %s\n' "$path"
    if [[ $path == *.cl && -f $root/$host && $(head -c 3 "$1") != "// " ]]; then
        printf '/// The kernels of @ref %s "%s", which says what changed and why.\n///\n' "$host" "${host##*/}"
    fi
    printf '/// @code{.cpp}\n'
    awk '/^ *\/\/(\|| (END )?ANSWER)/ { next }
         sub(/\/\/ EXERCISE /, "// Students write this in the exercise ") { sub(/$/, ":") }
         sub(/\/\/ END EXERCISE$/, "// The end of the exercise.") {}
         NR == 1 && !/^\/\// { shown = 1 } !shown && !/^\/\// { shown = 1 } shown && (found || NF) { found = 1; print "/// " $0 }' "$1"
    printf '/// @endcode\n'
}

case $path in
    labs/*/*.cl)
        describe "$file" | sed -E 's/(^|[^A-Za-z_])(__)?(kernel|global|local|constant|private) /\1/g'
        source_of "$file" ;;
    labs/*/*/*) describe "$file" && source_of "$file" ;;
    labs/*.hpp) sed '/^Run [a-z]/,/;/s/.*//' "$file" ;; # the variants are documented where they are defined
    *) describe "$file" ;;
esac
