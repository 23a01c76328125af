# cmake -DFOLDER=<build folder> -P SummariseTests.cmake: prints, at the end of a run, what is wrong with each variant and
# why tests were skipped, from tests.xml, the JUnit file of the run that just ended; and writes the reasons into that file.
#
# The test of a variant says what is wrong in a line "<variant> on <device> is wrong" and in the indented lines below it
# (tests/support/variants.cpp). A test says why it was skipped in a line "skipped: <reason>"; else what Catch2 prints of a
# SKIP is taken.
cmake_minimum_required(VERSION 3.25)
set(results ${FOLDER}/tests.xml)
if(NOT EXISTS ${results} OR NOT ${results} IS_NEWER_THAN ${FOLDER}/tests.started)
    return() # this run wrote none
endif()
file(READ ${results} rest)

# say(<text from the file>): prints it as people read it.
function(say text)
    string(REPLACE "&lt;" "<" text "${text}")
    string(REPLACE "&gt;" ">" text "${text}")
    string(REPLACE "&quot;" "\"" text "${text}")
    string(REPLACE "&apos;" "'" text "${text}")
    string(REPLACE "&amp;" "&" text "${text}")
    file(WRITE ${FOLDER}/tests.said "${text}\n") # an argument may be too long
    execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${FOLDER}/tests.said) # message() would write to stderr
    file(REMOVE ${FOLDER}/tests.said)
endfunction()

set(unread "${rest}")
set(faults "")
while(unread MATCHES "[\n>]([A-Za-z0-9_]+ on [a-z]+:[0-9]+ [^\n]* is wrong\n(  [^\n]*\n)+)")
    set(fault "${CMAKE_MATCH_1}")
    string(FIND "${unread}" "${fault}" at)
    string(LENGTH "${fault}" length)
    math(EXPR at "${at} + ${length} - 1") # the end of its last line may be what the next one begins after
    string(SUBSTRING "${unread}" ${at} -1 unread)
    string(APPEND faults "${fault}")
endwhile()
if(faults)
    string(REGEX REPLACE "\n$" "" faults "\n${faults}")
    string(REPLACE "\n" "\n  " faults "${faults}")
    say("\nWhat is wrong with the variants:${faults}")
endif()

set(done "")
set(reasons "") # their hashes, in the order in which they come up: a reason itself may hold a semicolon
while(TRUE)
    string(FIND "${rest}" "<skipped message=\"SKIP_" at)
    if(at EQUAL -1)
        break()
    endif()
    string(SUBSTRING "${rest}" 0 ${at} before)
    string(SUBSTRING "${rest}" ${at} -1 rest)
    string(FIND "${rest}" "</testcase>" end)
    string(SUBSTRING "${rest}" 0 ${end} test)
    string(SUBSTRING "${rest}" ${end} -1 rest)

    if(test MATCHES "[\n>]skipped: ([^\n<]+)")
        set(reason "${CMAKE_MATCH_1}")
    elseif(test MATCHES "SKIPPED:\nexplicitly with message:\n(( +[^\n]+\n)+)")
        string(REGEX REPLACE "\n +" " " reason "${CMAKE_MATCH_1}") # Catch2 breaks long lines
        string(STRIP "${reason}" reason)
    else()
        set(reason "no reason given")
    endif()
    string(REPLACE "\"" "&quot;" reason "${reason}")
    string(REGEX REPLACE "message=\"SKIP_[^\"]*\"" "" test "${test}")
    string(REPLACE "<skipped " "<skipped message=\"${reason}\"" test "${test}")
    string(APPEND done "${before}${test}")

    string(MD5 hash "${reason}")
    if(NOT hash IN_LIST reasons)
        list(APPEND reasons ${hash})
        set(count_${hash} 0)
        set(reason_${hash} "${reason}")
    endif()
    math(EXPR count_${hash} "${count_${hash}} + 1")
endwhile()
if(NOT reasons)
    return()
endif()
file(WRITE ${results} "${done}${rest}")

set(text "\nWhy tests were skipped:")
foreach(hash IN LISTS reasons)
    set(tests tests)
    if(count_${hash} EQUAL 1)
        set(tests test)
    endif()
    string(APPEND text "\n  ${count_${hash}} ${tests}: ${reason_${hash}}")
endforeach()
say("${text}")
