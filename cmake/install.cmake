# `cmake --install BUILD --prefix DIR`: the program with its manual and completions, and the library with its headers and its
# CMake package, in two components. Nothing installed knows the prefix: the tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/trainyard)

# Libraries outside of the system's folders, such as CUDA's, are found where they were when linking.
set_target_properties(trainyard_cli PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS trainyard_cli RUNTIME COMPONENT runtime)
set(documents ${PROJECT_BINARY_DIR}/documents)
install(DIRECTORY ${documents}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime)
install(FILES ${documents}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME trainyard COMPONENT runtime)
install(FILES ${documents}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _trainyard COMPONENT runtime)
install(FILES ${documents}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME trainyard.fish COMPONENT runtime)
install(DIRECTORY studies DESTINATION ${CMAKE_INSTALL_DATADIR}/trainyard COMPONENT runtime)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

set(exported trainyard trainyard_kernels trainyard_dependencies)
set_target_properties(trainyard_kernels PROPERTIES EXPORT_NAME kernels)
set_target_properties(trainyard_dependencies PROPERTIES EXPORT_NAME dependencies)
if(TRAINYARD_HAS_CUDA)
  list(APPEND exported trainyard_cuda)
  set_target_properties(trainyard_cuda PROPERTIES EXPORT_NAME cuda)
endif()
target_compile_features(trainyard PUBLIC cxx_std_20)
install(TARGETS ${exported} EXPORT trainyard ARCHIVE COMPONENT devel)
install(DIRECTORY include/trainyard TYPE INCLUDE COMPONENT devel)
install(EXPORT trainyard NAMESPACE trainyard:: FILE trainyardTargets.cmake DESTINATION ${package_folder} COMPONENT devel)
configure_package_config_file(cmake/trainyardConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/trainyardConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/trainyardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/trainyardConfig.cmake ${PROJECT_BINARY_DIR}/generated/trainyardConfigVersion.cmake
              cmake/find_onednn.cmake
        DESTINATION ${package_folder}
        COMPONENT devel)
