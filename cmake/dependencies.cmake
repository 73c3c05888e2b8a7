# Everything we link, in one interface library. Optional parts set TRAINYARD_HAS_<X>, which only CMake reads:
# it picks the real sources of a folder, or its absent.cpp.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(yaml-cpp REQUIRED)
set(TRAINYARD_YAML $<IF:$<TARGET_EXISTS:yaml-cpp::yaml-cpp>,yaml-cpp::yaml-cpp,yaml-cpp>)  # renamed in 0.8

# Programs that link the installed library need no headers of ours inside: those that are only headers stay behind.
add_library(trainyard_dependencies INTERFACE)
target_link_libraries(
  trainyard_dependencies
  INTERFACE fmt::fmt
            $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>
            $<BUILD_INTERFACE:CLI11::CLI11>
            PNG::PNG
            ZLIB::ZLIB
            OpenSSL::Crypto
            Threads::Threads
            $<BUILD_INTERFACE:Boost::headers>
            ${CMAKE_DL_LIBS}
            ${TRAINYARD_YAML})

if(TRAINYARD_OPENMP)
  find_package(OpenMP REQUIRED)
  target_link_libraries(trainyard_dependencies INTERFACE OpenMP::OpenMP_CXX)
endif()

set(TRAINYARD_HAS_ONEDNN OFF)
if(NOT TRAINYARD_ONEDNN STREQUAL "OFF")
  include(cmake/find_onednn.cmake)
  if(TARGET trainyard::onednn)
    set(TRAINYARD_HAS_ONEDNN ON)
    target_link_libraries(trainyard_dependencies INTERFACE trainyard::onednn)
  elseif(TRAINYARD_ONEDNN STREQUAL "ON")
    message(FATAL_ERROR "TRAINYARD_ONEDNN=ON, but oneDNN was not found (Debian: libdnnl-dev)")
  endif()
endif()

set(TRAINYARD_HAS_SQLITE OFF)
if(NOT TRAINYARD_SQLITE STREQUAL "OFF")
  find_package(SQLite3)
  if(SQLite3_FOUND)
    set(TRAINYARD_HAS_SQLITE ON)
    target_link_libraries(trainyard_dependencies INTERFACE SQLite::SQLite3)
  elseif(TRAINYARD_SQLITE STREQUAL "ON")
    message(FATAL_ERROR "TRAINYARD_SQLITE=ON, but SQLite was not found (Debian: libsqlite3-dev)")
  endif()
endif()

# Linked by src/data/decode. The original libjpeg cannot decode a part of an image.
set(TRAINYARD_HAS_JPEG OFF)
if(NOT TRAINYARD_JPEG STREQUAL "OFF")
  find_package(JPEG)
  if(JPEG_FOUND)
    include(CheckCXXSymbolExists)
    set(CMAKE_REQUIRED_LIBRARIES JPEG::JPEG)
    check_cxx_symbol_exists(jpeg_crop_scanline "cstdio;jpeglib.h" TRAINYARD_JPEG_CROPS)
    unset(CMAKE_REQUIRED_LIBRARIES)
  endif()
  if(JPEG_FOUND AND TRAINYARD_JPEG_CROPS)
    set(TRAINYARD_HAS_JPEG ON)
  elseif(TRAINYARD_JPEG STREQUAL "ON")
    message(FATAL_ERROR "TRAINYARD_JPEG=ON, but libjpeg-turbo was not found (Debian: libjpeg62-turbo-dev)")
  endif()
endif()

# Only for those who include mpi.h: whoever does not know it is not compiled again for it.
set(TRAINYARD_HAS_MPI OFF)
if(NOT TRAINYARD_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(TRAINYARD_HAS_MPI ON)
  elseif(TRAINYARD_MPI STREQUAL "ON")
    message(FATAL_ERROR "TRAINYARD_MPI=ON, but MPI was not found (Debian: libopenmpi-dev)")
  endif()
endif()
message(STATUS "trainyard: SQLite ${TRAINYARD_HAS_SQLITE}, oneDNN ${TRAINYARD_HAS_ONEDNN}, JPEG ${TRAINYARD_HAS_JPEG}, MPI ${TRAINYARD_HAS_MPI}, OpenMP ${TRAINYARD_OPENMP}")
