# Writes build_info.cpp: what the compiler is told when configuring, the git commit at every build. The file changes
# only when one of them does, so that a build without a new commit compiles nothing.
#
# As a script (cmake -D SOURCE=... -D TEMPLATE=... -D OUTPUT=... -P build_info.cmake) it does the second half.
if(CMAKE_SCRIPT_MODE_FILE)
  set(commit "")
  set(changes "")
  set(commit_seconds 0)
  find_program(git git)
  if(git AND EXISTS "${SOURCE}/.git")
    execute_process(COMMAND ${git} -C ${SOURCE} rev-parse HEAD
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
    if(failed)
      set(commit "")
    else()
      execute_process(COMMAND ${git} -C ${SOURCE} show --no-patch --format=%ct HEAD
                      OUTPUT_VARIABLE commit_seconds OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      execute_process(COMMAND ${git} -C ${SOURCE} --no-optional-locks diff HEAD OUTPUT_VARIABLE difference ERROR_QUIET)
      if(difference)
        string(SHA1 changes "${difference}")
        string(SUBSTRING ${changes} 0 8 changes)
      endif()
    endif()
  endif()
  configure_file(${TEMPLATE} ${OUTPUT})
  return()
endif()

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
get_target_property(options trainyard_flags INTERFACE_COMPILE_OPTIONS)
list(FILTER options EXCLUDE REGEX "^-W")
list(JOIN options " " options)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${options}" flags)
string(REGEX REPLACE "[\"\\\\$]" "" flags "${flags}")

set(generated ${PROJECT_BINARY_DIR}/generated)
configure_file(cmake/build_info.cpp.in ${generated}/build_info.cpp.in @ONLY)
add_custom_target(
  build_info
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D TEMPLATE=${generated}/build_info.cpp.in -D
          OUTPUT=${generated}/build_info.cpp -P ${PROJECT_SOURCE_DIR}/cmake/build_info.cmake
  BYPRODUCTS ${generated}/build_info.cpp
  COMMENT "Looking for a new commit"
  VERBATIM)
target_sources(trainyard PRIVATE ${generated}/build_info.cpp)
add_dependencies(trainyard build_info)
