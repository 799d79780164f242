# Install rules: tools, static libraries with their headers, and a find_package(qfx) configuration.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS qfx_ir qfx_kernels qfx_backends qfx_passes qfx_llvm EXPORT qfxTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(room ir kernels backends passes)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/qfx
          FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*Detail.h" EXCLUDE PATTERN "*.inc.h" EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/passes/include/qfx DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
foreach(tool qfx-opt qfx-run qfx-bench)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/qfx)
install(EXPORT qfxTargets NAMESPACE qfx:: DESTINATION ${config_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/qfxConfig.cmake.in ${PROJECT_BINARY_DIR}/qfxConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/qfxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/qfxConfig.cmake ${PROJECT_BINARY_DIR}/qfxConfigVersion.cmake DESTINATION ${config_dir})
