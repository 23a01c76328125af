# cmake -DDOXYGEN=... -DINCLUDE=common/include -P CheckComments.cmake
# Whatever common/ offers must have a comment. Only members whose name says it all may go without: fields, functions
# without arguments, operators, copies and moves, destructors.
set(settings "QUIET=YES\nINPUT=\"${INCLUDE}\"\nRECURSIVE=YES\nFILE_PATTERNS=*.hpp\nEXCLUDE_SYMBOLS=gpulab::detail*
GENERATE_HTML=NO\nGENERATE_LATEX=NO\nGENERATE_TAGFILE=comments.tag\nWARN_IF_UNDOCUMENTED=YES\nJAVADOC_AUTOBRIEF=YES
MACRO_EXPANSION=YES\nEXPAND_ONLY_PREDEF=YES\nSEARCH_INCLUDES=NO\nPREDEFINED=GPULAB_WITH_CUDA GPULAB_WITH_OPENCL\n")
file(WRITE CheckComments.doxyfile "${settings}")
execute_process(COMMAND ${DOXYGEN} CheckComments.doxyfile ERROR_VARIABLE warnings RESULT_VARIABLE rc)
if(NOT rc EQUAL 0 OR NOT EXISTS comments.tag)
    message(FATAL_ERROR "Doxygen failed:\n${warnings}")
endif()

string(REPLACE ";" "," warnings "${warnings}")
string(REPLACE "\n" ";" warnings "${warnings}")
set(missing "")
foreach(warning IN LISTS warnings)
    if(warning AND NOT warning MATCHES "\\(variable\\)|\\(\\)[a-z ]* \\(function\\)|operator|&&|=delete|~|CL_[A-Z0-9_]+ \\(macro")
        string(APPEND missing "\n${warning}")
    endif()
endforeach()
if(missing)
    message(FATAL_ERROR "comments are missing in common/:${missing}")
endif()
