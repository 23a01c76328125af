# cmake -DFROM=<root> -DTO=... -P CopyFigures.cmake: the pictures of the pages, all in one folder.
file(GLOB_RECURSE figures ${FROM}/docs/*.svg ${FROM}/docs/*.png ${FROM}/labs/*.svg ${FROM}/labs/*.png)
foreach(figure IN LISTS figures)
    get_filename_component(name ${figure} NAME)
    if(EXISTS ${TO}/${name})
        message(FATAL_ERROR "two pictures are named ${name}")
    endif()
    file(COPY ${figure} DESTINATION ${TO})
endforeach()
