# Makes the target trainyard::onednn, or leaves it out. Not find_package(dnnl): Debian's package file asks for OpenCL
# headers that our calls never need. The installed package includes this file as well.
if(NOT TARGET trainyard::onednn)
  find_path(DNNL_INCLUDE_DIR dnnl.hpp)
  find_library(DNNL_LIBRARY dnnl)
  if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
    add_library(trainyard::onednn UNKNOWN IMPORTED)
    set_target_properties(trainyard::onednn PROPERTIES IMPORTED_LOCATION "${DNNL_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                                           "${DNNL_INCLUDE_DIR}")
  endif()
endif()
