# cmake -DFROM=... -DTO=... -P CopyMathJax.cmake: the part of MathJax 2 that the pages use, TeX in and HTML out.
file(COPY ${FROM}/MathJax.js DESTINATION ${TO})
foreach(part config/TeX-MML-AM_CHTML.js jax/element jax/input jax/output/CommonHTML extensions fonts/HTML-CSS/TeX/woff)
    get_filename_component(folder ${part} DIRECTORY)
    if(EXISTS ${FROM}/${part})
        file(COPY ${FROM}/${part} DESTINATION ${TO}/${folder} FOLLOW_SYMLINK_CHAIN)
    endif()
endforeach()
