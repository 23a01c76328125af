# cmake -DSOURCE=x.cl -DHEADER=x.cl.hpp -P EmbedText.cmake: a C++ header that holds the text of a file.
get_filename_component(file ${SOURCE} NAME)
string(REGEX REPLACE "^[0-9]+_" "" name ${file})
string(MAKE_C_IDENTIFIER ${name} name)
file(READ ${SOURCE} text)
# A string literal may be limited to 16 kB, but adjacent ones are joined: one literal per line.
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE ${HEADER}.new "// Made by the build from ${file}.\n#pragma once\n\ninline constexpr char ${name}[] =\n    \"${text}\";\n")
file(RENAME ${HEADER}.new ${HEADER})
