find_package(GTest REQUIRED)
include(GoogleTest)

# One binary per label, of all of Trainyard or of one LIBRARY; every TEST in it becomes a CTest test of its own.
# Those that match LONG, a filter of GoogleTest, begin first where several run at once, so that none is left at the end.
# Those that match CUDA, a filter of GoogleTest, need a GPU: together they are one test of the label cuda, in one
# process, skipped where there is no GPU (tests/cuda/main.cpp says so).
function(trainyard_test_binary name label)
  cmake_parse_arguments(ARG "" "TIMEOUT;LONG;CUDA;LIBRARY" "SOURCES;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600) # ends what hangs: each test runs once, on a machine that may be busy
  endif()
  if(NOT ARG_LIBRARY)
    set(ARG_LIBRARY trainyard)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # Tests are compiled far more often than they run, and their time is the library's: without optimising they build in three quarters
  # of the time that -O1 takes.
  target_compile_options(${name} PRIVATE -O0)
  # Twelve at a time: the headers they share are read once, and what they use of them is compiled once.
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARY} GTest::gtest GTest::gtest_main)
  get_property(first GLOBAL PROPERTY TRAINYARD_FIRST_TEST_BINARY)
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    target_precompile_headers(${name} PRIVATE ${TRAINYARD_PRECOMPILED} <gtest/gtest.h>)
    set_property(GLOBAL PROPERTY TRAINYARD_FIRST_TEST_BINARY ${name})
  endif()
  if(ARG_CUDA)
    add_test(NAME ${name}.cuda COMMAND ${name} --gtest_filter=${ARG_CUDA} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}.cuda PROPERTIES LABELS cuda TIMEOUT 600 RESOURCE_LOCK gpu SKIP_RETURN_CODE 77)
  endif()
  if(label STREQUAL "cuda")
    return()
  endif()
  set(properties LABELS ${label} TIMEOUT ${ARG_TIMEOUT})
  if(ARG_ENVIRONMENT) # an empty value would take the next property's name for its own
    list(APPEND properties ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  set(options DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 # the first start of a program waits for a disk that may be busy
              WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  gtest_discover_tests(${name} ${options} TEST_FILTER "-${ARG_CUDA}:${ARG_LONG}" PROPERTIES ${properties})
  if(ARG_LONG)
    gtest_discover_tests(${name} ${options} TEST_FILTER ${ARG_LONG} TEST_LIST ${name}_long PROPERTIES ${properties} COST 1000)
  endif()
endfunction()
