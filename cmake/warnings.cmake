# Compiler flags that hold for all of our code.
add_library(trainyard_flags INTERFACE)
target_compile_options(trainyard_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror
                       -Wno-unknown-pragmas
                       -Wno-missing-field-initializers)
if(TRAINYARD_NATIVE)
  target_compile_options(trainyard_flags INTERFACE -march=native)
endif()
# Contraction (a*b+c in one rounding) stays on, reassociation stays off: results must not depend on how a
# loop was vectorised. Errno and traps are never read, and without these two flags sqrt does not vectorise.
target_compile_options(trainyard_flags INTERFACE -fno-math-errno -fno-trapping-math)
if(TRAINYARD_SANITIZE)
  target_compile_options(trainyard_flags INTERFACE -fsanitize=${TRAINYARD_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(trainyard_flags INTERFACE -fsanitize=${TRAINYARD_SANITIZE})
endif()
