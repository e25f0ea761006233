# Library, public headers, command, and a package file so that find_package(timelake) gives timelake::timelake.

include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/timelake")

# Libraries from .deps go next to libtimelake, so that the installed folder runs anywhere. Off for a Python wheel, which
# finds Arrow in pyarrow and places DuckDB itself.
option(TIMELAKE_INSTALL_DEPS "Install Arrow's and DuckDB's libraries too when they come from .deps" ON)

if(TARGET timelake_shared)
  if(TIMELAKE_INSTALL_DEPS)
    foreach(_library IN ITEMS arrow parquet arrow_compute arrow_s3 duckdb)
      get_target_property(_type timelake::${_library} TYPE)
      if(_type STREQUAL "SHARED_LIBRARY")
        install(FILES "$<TARGET_FILE:timelake::${_library}>" DESTINATION ${CMAKE_INSTALL_LIBDIR})
      endif()
    endforeach()
  endif()
  set_property(TARGET timelake_shared APPEND PROPERTY INSTALL_RPATH "$ORIGIN")
  install(TARGETS timelake_shared EXPORT timelakeTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY include/timelake DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  install(EXPORT timelakeTargets NAMESPACE timelake:: DESTINATION ${_package_dir})
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/timelakeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/timelakeConfig.cmake.in" "${PROJECT_BINARY_DIR}/timelakeConfig.cmake" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/timelakeConfig.cmake" "${PROJECT_BINARY_DIR}/timelakeConfigVersion.cmake"
    cmake/Arrow.cmake DESTINATION ${_package_dir})
endif()
if(TARGET timelake_cli)
  file(RELATIVE_PATH _bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_property(TARGET timelake_cli APPEND PROPERTY INSTALL_RPATH "$ORIGIN/${_bin_to_lib}")
  install(TARGETS timelake_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
