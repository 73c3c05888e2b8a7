# Finds the CUDA toolkit with cuDNN and cuBLASLt. Sets TRAINYARD_HAS_CUDA and TRAINYARD_HAS_NCCL, and makes
# trainyard_cuda for linking.
#
# AUTO takes them where there is also a GPU: compiling for one takes minutes that nobody without one should wait.
# TOOLKIT takes them wherever they are, as ./check does; ON is an error where they are not.
set(TRAINYARD_HAS_CUDA OFF)
set(TRAINYARD_HAS_NCCL OFF)
set(TRAINYARD_CUDA_RUNS ON)
if(TRAINYARD_CUDA STREQUAL "OFF")
  return()
endif()

file(GLOB gpus /dev/nvidia[0-9]*)
if(TRAINYARD_CUDA STREQUAL "AUTO" AND NOT gpus)
  return()
endif()

function(trainyard_no_cuda reason)
  if(TRAINYARD_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TRAINYARD_CUDA=ON, but ${reason}")
  endif()
  message(STATUS "trainyard: no CUDA: ${reason}")
endfunction()

find_program(TRAINYARD_NVCC nvcc HINTS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(NOT TRAINYARD_NVCC)
  trainyard_no_cuda("nvcc was not found")
  return()
endif()

# cuDNN lies beside the toolkit, in the system, or in Python's package of it.
find_program(TRAINYARD_PYTHON python3)
set(hints /usr/local/cuda)
if(TRAINYARD_PYTHON)
  execute_process(COMMAND ${TRAINYARD_PYTHON} -c "import nvidia.cudnn as c; print(list(c.__path__)[0])"
                  OUTPUT_VARIABLE packaged OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND hints ${packaged})
endif()
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${hints} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${hints} PATH_SUFFIXES lib64 lib)
if(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)
  trainyard_no_cuda("cuDNN was not found")
  return()
endif()

set(CMAKE_CUDA_COMPILER ${TRAINYARD_NVCC})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a)
endif()
enable_language(CUDA)
if(TRAINYARD_CUDA STREQUAL "TOOLKIT" AND NOT gpus)
  # Nobody runs it here: it only has to compile.
  set(TRAINYARD_CUDA_RUNS OFF)
  string(APPEND CMAKE_CUDA_FLAGS " -Xptxas=-O0 -Xcicc=-O0")
endif()
# CMake 3.25 does not know how nvcc 13 spells it.
foreach(kind STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION -std=c++20)
  endif()
endforeach()
set(CMAKE_CUDA_STANDARD 20)
# CMake 3.25 deprecates a library that CUDA 12 and later do not have, and fails; not for who asks for an older CMake.
set(asked ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${asked})
add_library(trainyard_cuda INTERFACE)
target_include_directories(trainyard_cuda SYSTEM INTERFACE "$<BUILD_INTERFACE:${CUDNN_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}>")
target_link_libraries(trainyard_cuda INTERFACE CUDA::cudart CUDA::cublasLt ${CUDNN_LIBRARY})
set(TRAINYARD_HAS_CUDA ON)

# NCCL comes with the toolkit, or apart.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} /usr/local/cuda/include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS /usr/local/cuda PATH_SUFFIXES lib64 lib)
if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
  set(TRAINYARD_HAS_NCCL ON)
endif()
