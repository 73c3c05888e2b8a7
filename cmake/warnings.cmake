# Compiler flags that hold for all of our code.
add_library(trainyard_flags INTERFACE)
target_compile_options(trainyard_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror
                       -Wno-unknown-pragmas
                       -Wno-missing-field-initializers)
# GCC 12 sees accesses out of bounds inside std::string that are none, here or there by the length of a path; with
# precompiled headers it no longer knows that they lie in a system header. These stay warnings.
target_compile_options(trainyard_flags INTERFACE -Wno-error=array-bounds -Wno-error=restrict
                       -Wno-error=stringop-overflow -Wno-error=stringop-overread)
# What GCC 13 takes for references to temporaries are members of what a temporary names.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(trainyard_flags INTERFACE -Wno-dangling-reference)
endif()
if(TRAINYARD_NATIVE)
  target_compile_options(trainyard_flags INTERFACE -march=native)
else()
  # Vectors wider than the machine's stay inside our own functions.
  target_compile_options(trainyard_flags INTERFACE -march=x86-64-v2 -Wno-psabi)
endif()
# Contraction (a*b+c in one rounding) stays on, reassociation stays off: results must not depend on how a
# loop was vectorised. Errno and traps are never read, and without these two flags sqrt does not vectorise.
target_compile_options(trainyard_flags INTERFACE -fno-math-errno -fno-trapping-math)
if(TRAINYARD_SANITIZE)
  # Lines are all that a report needs, and compiling for it takes longer than running it.
  target_compile_options(trainyard_flags INTERFACE -O1 -g1 -fsanitize=${TRAINYARD_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  # GCC 12 takes members of <regex> for uninitialised once they are instrumented.
  target_compile_options(trainyard_flags INTERFACE -Wno-error=maybe-uninitialized)
  target_link_options(trainyard_flags INTERFACE -fsanitize=${TRAINYARD_SANITIZE})
endif()
# g++ is faster by a tenth where it does not collect garbage before it has a lot; its largest file then takes 1.5 GB instead of 1 GB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>)
endif()
