# Own CPU kernels for several levels of instructions, in a portable build (docs/adr/0037-a-library-and-a-portable-build.md).
#
# trainyard_kernel_level(v4 MACRO SOURCE...) compiles the sources once more for x86-64-v4, where compilers define MACRO, and joins them to one
# object file, of which only the table trainyard_level_v4 (src/backend/onednn/level.cpp) is visible from outside. All other
# symbols become local, those of inline functions and templates too: the linker keeps one copy of such a function for a whole
# program, and could keep the one that was compiled for a better machine than the program's.
function(trainyard_kernel_level name macro)
  set(level trainyard_level_${name})
  add_library(${level} OBJECT ${ARGN})
  target_include_directories(${level} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  # The last -march counts: flags of linked targets follow those of the target itself.
  add_library(${level}_flags INTERFACE)
  target_compile_options(${level}_flags INTERFACE -march=x86-64-${name} -fno-gnu-unique)
  target_link_libraries(${level} PRIVATE trainyard_flags trainyard_dependencies ${level}_flags)
  target_compile_definitions(${level} PRIVATE TRAINYARD_LEVEL=${level} TRAINYARD_LEVEL_NAME="x86-64-${name}"
                                              TRAINYARD_LEVEL_MACRO=${macro})
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
