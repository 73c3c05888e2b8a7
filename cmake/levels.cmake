# Own CPU kernels for several levels of instructions, in a portable build (docs/adr/0037-a-library-and-a-portable-build.md).
#
# trainyard_kernel_level(v4 FLAG... SOURCES SOURCE...) compiles the sources once more with these flags and joins them to one
# object file, of which only the table trainyard_level_v4 (src/backend/onednn/level.cpp) is visible from outside. All other
# symbols become local, those of inline functions and templates too: the linker keeps one copy of such a function for a whole
# program, and could keep the one that was compiled for a better machine than the program's.
function(trainyard_kernel_level name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  set(level trainyard_level_${name})
  add_library(${level} OBJECT ${ARG_SOURCES})
  target_include_directories(${level} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${level} PRIVATE trainyard_flags trainyard_dependencies)
  target_compile_options(${level} PRIVATE ${ARG_UNPARSED_ARGUMENTS} -fno-gnu-unique)
  target_compile_definitions(${level} PRIVATE TRAINYARD_LEVEL=${level} TRAINYARD_LEVEL_NAME="x86-64-${name}")
  set(joined ${CMAKE_CURRENT_BINARY_DIR}/${level}.joined.o)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${level}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--force-group-allocation -o ${joined} $<TARGET_OBJECTS:${level}>
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=${level} ${joined} ${object}
    COMMAND ${CMAKE_COMMAND} -D OBJECT=${object} -D OBJDUMP=${CMAKE_OBJDUMP} -P ${PROJECT_SOURCE_DIR}/cmake/check_level.cmake
    DEPENDS ${level} $<TARGET_OBJECTS:${level}> ${PROJECT_SOURCE_DIR}/cmake/check_level.cmake
    COMMAND_EXPAND_LISTS
    COMMENT "Joining the kernels of ${name}"
    VERBATIM)
  add_custom_target(${level}_object DEPENDS ${object})
  add_dependencies(${library} ${level}_object)
  set_source_files_properties(${object} TARGET_DIRECTORY ${library} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${library} PRIVATE ${object})
endfunction()
