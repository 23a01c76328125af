# cmake -DFROM=... -DTO=... -P CopyMathJax.cmake: the part of MathJax 2 that the pages use, TeX in and HTML out.
file(COPY ${FROM}/MathJax.js DESTINATION ${TO})
foreach(part jax/element jax/input/TeX jax/output/HTML-CSS extensions fonts/HTML-CSS/TeX/woff)
    get_filename_component(folder ${part} DIRECTORY)
    if(EXISTS ${FROM}/${part})
        file(COPY ${FROM}/${part} DESTINATION ${TO}/${folder} FOLLOW_SYMLINK_CHAIN)
    endif()
endforeach()
