# Library, public headers, command, and a package file so that find_package(timelake) gives timelake::timelake.

include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/timelake")

# The installed files look for their siblings next to themselves; Arrow and DuckDB come from the loader's path or from
# CMAKE_INSTALL_RPATH, which whoever packages decides.
if(TARGET timelake_shared)
  set_property(TARGET timelake_shared APPEND PROPERTY INSTALL_RPATH "$ORIGIN")
  install(TARGETS timelake_shared EXPORT timelakeTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY include/timelake DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  install(EXPORT timelakeTargets NAMESPACE timelake:: DESTINATION ${_package_dir})
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/timelakeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/timelakeConfig.cmake.in" "${PROJECT_BINARY_DIR}/timelakeConfig.cmake" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/timelakeConfig.cmake" "${PROJECT_BINARY_DIR}/timelakeConfigVersion.cmake"
    cmake/Arrow.cmake cmake/DuckDB.cmake DESTINATION ${_package_dir})
endif()
if(TARGET timelake_cli)
  file(RELATIVE_PATH _bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_property(TARGET timelake_cli APPEND PROPERTY INSTALL_RPATH "$ORIGIN/${_bin_to_lib}")
  install(TARGETS timelake_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
