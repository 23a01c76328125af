#!/usr/bin/env bash
# What Doxygen reads in place of a file: filter.sh ROOT FILE. Lines stay where they are, so that links to them hold.
# - A rung's opening comment becomes the description of its file, with a link back to the page of its lab.
# - The words of OpenCL C that C++ has not are taken out of .cl files.
# - In a lab's README and in docs/formulas.md, a variant's name leads to the file that defines it; a README gets a list
#   of all files of its lab at the end. So formula, page and kernel lead to each other.
set -euo pipefail
root=$1 file=$2
path=${file#"$root"/}
lab=""
if [[ $path =~ ^labs/([0-9]+_[a-z0-9_]+)/ ]]; then lab=${BASH_REMATCH[1]}; fi
page() { [[ $1 && $(head -c 2 "$root/labs/$1/README.md" 2>/dev/null) == "# " ]]; } # has this lab its page yet?
name=""
if page "$lab"; then name=${lab#*_}; fi

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


link_variants() { # link_variants FOLDER: text in, text out
    awk -v folder="$root/labs/$1" -v strip="$root/" '
        BEGIN {
            search = "grep -HoE \"^(template <class T> )?void (cpu|cuda|opencl)_[a-z0-9_]+[(]\" " folder "/*/*.c*"
            while ((search | getline line) > 0) {
                file = substr(line, 1, index(line, ":") - 1)
                sub(/^.* /, "", line)
                line = substr(line, 1, length(line) - 1)
                if (!(line in defined)) defined[line] = substr(file, length(strip) + 1)
            }
        }
        /^(    |#)/ { print; next } # code, heading
        {
            n = split($0, parts, "`")
            text = parts[1]
            for (i = 2; i <= n; i++) {
                if (i % 2 == 0 && parts[i] in defined) { text = text "@ref " defined[parts[i]] " \"" parts[i] "\"" parts[++i] }
                else text = text "`" parts[i]
            }
            print text
        }'
}

files_of_lab() {
    local folder source
    for folder in cpu opencl cuda; do
        for source in "$root/labs/$lab/$folder"/*.*; do
            [[ -f $source ]] || continue
            echo "- @ref labs/$lab/$folder/${source##*/} \"$folder/${source##*/}\""
        done
    done
}

formulas() { # a section for each lab that is there: "## 01_saxpy: title"
    local line section="" folder=""
    while IFS= read -r line; do
        if [[ $line =~ ^'## '([0-9]+_[a-z0-9]+): ]]; then
            if page "$folder"; then link_variants "$folder" <<<"$section"; fi
            folder=${BASH_REMATCH[1]}
            section="## ${folder%%_*}${line#*_"${folder#*_}"}"$'\n\n'"The lab: @ref lab_${folder#*_}."
        elif [[ $folder ]]; then
            section+=$'\n'$line
        else
            echo "$line"
        fi
    done <"$file"
    if page "$folder"; then link_variants "$folder" <<<"$section"; fi
}

case $path in
    labs/*/README.md)
        [[ $name ]] || exit 0
        awk -v id="lab_$name" 'NR == 1 { print $0 " {#" id "}"; next } { print }' "$file" | link_variants "$lab"
        printf '\n## In the code {#code_%s}\n\n' "$name"
        if grep -qs "^namespace $name\b" "$root/labs/$lab"/*.hpp; then echo "Everything of this lab: namespace @ref $name."; fi
        printf 'Formulas and the kernels that compute them: @ref formulas. One file per rung:\n\n'
        files_of_lab ;;
    *.cl) describe "$file" | sed -E 's/(^|[^A-Za-z_])(__)?(kernel|global|local|constant|private) /\1/g' ;;
    labs/*.hpp) sed '/^Run [a-z]/,/;/s/.*//' "$file" ;; # the variants are documented where they are defined
    README.md) # links to the labs that are there
        while IFS= read -r line; do
            if [[ $line =~ \[([a-z0-9]+)\]\((labs/[^\)]*)\) && ! -f $root/${BASH_REMATCH[2]} ]]; then
                line=${line/"${BASH_REMATCH[0]}"/${BASH_REMATCH[1]}}
            fi
            printf '%s\n' "$line"
        done <"$file" ;;
    docs/formulas.md) formulas ;;
    *.md) cat "$file" ;;
    *) describe "$file" ;;
esac
