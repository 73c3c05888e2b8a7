find_package(GTest REQUIRED)
include(GoogleTest)

# One binary per label; every TEST in it becomes a CTest test of its own. Those of one LOCK never run at once.
# Those that match CUDA, a filter of GoogleTest, need a GPU and have the label cuda instead.
function(trainyard_test_binary name label)
  cmake_parse_arguments(ARG "" "TIMEOUT;LOCK;CUDA" "SOURCES;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # Tests are compiled far more often than they run: less optimising builds them in half the time.
  target_compile_options(${name} PRIVATE -O1)
  target_link_libraries(${name} PRIVATE trainyard GTest::gtest GTest::gtest_main)
  get_property(first GLOBAL PROPERTY TRAINYARD_FIRST_TEST_BINARY)
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    target_precompile_headers(${name} PRIVATE ${TRAINYARD_PRECOMPILED} <gtest/gtest.h>)
    set_property(GLOBAL PROPERTY TRAINYARD_FIRST_TEST_BINARY ${name})
  endif()
  set(filter "*")
  if(ARG_CUDA)
    set(filter "-${ARG_CUDA}")
    trainyard_discover_tests(${name} cuda "${ARG_CUDA}")
  endif()
  trainyard_discover_tests(${name} ${label} "${filter}")
endfunction()

# Of trainyard_test_binary, whose arguments it sees.
macro(trainyard_discover_tests name label filter)
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    TEST_FILTER "${filter}"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES LABELS ${label} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_ENVIRONMENT}" RESOURCE_LOCK "${ARG_LOCK}")
endmacro()
