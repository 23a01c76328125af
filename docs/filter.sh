#!/usr/bin/env bash
# What Doxygen reads in place of a file: filter.sh ROOT FILE. Lines stay where they are, so that links to them hold.
# - A rung's opening comment becomes the description of its file, with a link back to the page of its lab.
# - The words of OpenCL C that C++ has not are taken out of .cl files.
# - A lab's README gets a list of its files at the end, so that page and kernels lead to each other.
set -euo pipefail
root=$1 file=$2
path=${file#"$root"/}
lab=""
if [[ $path =~ ^labs/([0-9]+_[a-z0-9_]+)/ ]]; then lab=${BASH_REMATCH[1]}; fi
name=""
if [[ -f $root/labs/$lab/README.md ]]; then name=${lab#*_}; fi

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
        NR == 1 && /^\/\/ / { inside = 1; sub(/^\/\/ /, ""); held = "/// @file " path " @brief " escaped($0); next }
        inside && /^\/\// { print held; sub(/^\/\/ ?/, ""); held = "/// " escaped($0); next }
        inside { print held page; inside = 0 }
        { print }
        END { if (inside) print held page }' "$1"
}

files_of_lab() {
    local folder source
    for folder in cpu opencl cuda; do
        for source in "$root/labs/$lab/$folder"/*.*; do
            [[ -f $source ]] || continue
            source=labs/$lab/$folder/${source##*/}
            echo "- @ref $source \"$folder/${source##*/}\""
        done
    done
}

case $path in
    labs/*/README.md)
        awk -v id="lab_$name" 'NR == 1 { print $0 " {#" id "}"; next } { print }' "$file"
        printf '\n## In the code {#code_%s}\n\n' "$name"
        if grep -qs "^namespace $name\b" "$root/labs/$lab"/*.hpp; then echo "Everything of this lab: namespace @ref $name."; fi
        printf 'Formulas and the kernels that compute them: @ref formulas. One file per rung:\n\n'
        files_of_lab ;;
    *.cl) describe "$file" | sed -E 's/(^|[^A-Za-z_])(__)?(kernel|global|local|constant|private) /\1/g' ;;
    labs/*.hpp) sed '/^Run [a-z]/,/;/s/.*//' "$file" ;; # the variants are documented where they are defined
    *.md) cat "$file" ;;
    *) describe "$file" ;;
esac
