# cmake -DSOURCE=x.cl -DHEADER=x.cl.hpp -DROOT=... -P EmbedText.cmake: the text of a file as a constant of C++, which x.cl.hpp declares
# and x.cl.cpp beside it defines.
get_filename_component(file ${SOURCE} NAME)
string(REGEX REPLACE "^[0-9]+_" "" name ${file})
string(MAKE_C_IDENTIFIER ${name} name)
file(READ ${SOURCE} text)
string(ASCII 239 187 191 byte_order_mark)
string(REGEX REPLACE "^${byte_order_mark}" "" text "${text}")

# Compilers name the file and line that a #line tells them. Where the first line is a comment, the #line takes its place:
# then lines also count right for oclgrind, which prints the line of the text that it was given.
file(RELATIVE_PATH path ${ROOT} ${SOURCE})
if(path MATCHES "^\\.\\./")
    set(path ${file}) # not a file of this repository
endif()
if(text MATCHES "^//[^\n]*[^\n\\\\]\n")
    string(FIND "${text}" "\n" end)
    string(SUBSTRING "${text}" ${end} -1 text)
    string(PREPEND text "#line 2 \"${path}\"")
else()
    string(PREPEND text "#line 1 \"${path}\"\n")
endif()

# A string literal may be limited to 16 kB, but adjacent ones are joined: one literal per line.
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
# Who includes the header need not be compiled again when the text changes.
set(declared "// Made by the build from ${file}.\n#pragma once\n\nextern const char* const ${name};\n")
set(before "")
if(EXISTS ${HEADER})
    file(READ ${HEADER} before)
endif()
if(NOT before STREQUAL declared)
    file(WRITE ${HEADER}.new "${declared}")
    file(RENAME ${HEADER}.new ${HEADER})
endif()
string(REGEX REPLACE "hpp$" "cpp" definition ${HEADER})
file(WRITE ${definition}.new "// Made by the build from ${file}.\n#include \"${file}.hpp\"\n\nconst char* const ${name} =\n    \"${text}\";\n")
file(RENAME ${definition}.new ${definition})
