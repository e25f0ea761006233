# Defines timelake::duckdb: the shared library and the headers of its C++ API.
#
# src/sql uses DuckDB's internal classes, so the version must match exactly. An installed DuckDB comes first, then
# TIMELAKE_DUCKDB_DIR (lib/libduckdb.so and include/), by default what `make deps` put into .deps/duckdb.

include_guard(GLOBAL)

set(TIMELAKE_DUCKDB_VERSION 1.5.6)
set(TIMELAKE_DUCKDB_DIR "" CACHE PATH "Folder with DuckDB ${TIMELAKE_DUCKDB_VERSION}'s lib/ and include/; empty: look for one")

if(NOT TIMELAKE_DUCKDB_DIR)
  find_package(DuckDB ${TIMELAKE_DUCKDB_VERSION} EXACT CONFIG QUIET)
endif()

if(DuckDB_FOUND AND TARGET duckdb)
  message(STATUS "DuckDB: ${DuckDB_VERSION} from ${DuckDB_DIR}")
  add_library(timelake::duckdb INTERFACE IMPORTED GLOBAL)
  target_link_libraries(timelake::duckdb INTERFACE duckdb)
  target_include_directories(timelake::duckdb SYSTEM INTERFACE ${DuckDB_INCLUDE_DIRS})
else()
  set(_duckdb "${TIMELAKE_DUCKDB_DIR}")
  if(NOT _duckdb)
    set(_duckdb "${PROJECT_SOURCE_DIR}/.deps/duckdb")
  endif()
  foreach(_file lib/libduckdb.so include/duckdb.hpp)
    if(NOT EXISTS "${_duckdb}/${_file}")
      message(FATAL_ERROR "DuckDB ${TIMELAKE_DUCKDB_VERSION} not found (no ${_duckdb}/${_file}): run `make deps`, install "
                          "it, or set TIMELAKE_DUCKDB_DIR")
    endif()
  endforeach()
  message(STATUS "DuckDB: ${TIMELAKE_DUCKDB_VERSION} from ${_duckdb}")
  add_library(timelake::duckdb SHARED IMPORTED GLOBAL)
  set_target_properties(timelake::duckdb PROPERTIES
    IMPORTED_LOCATION "${_duckdb}/lib/libduckdb.so"
    IMPORTED_SONAME libduckdb.so
    INTERFACE_INCLUDE_DIRECTORIES "${_duckdb}/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_duckdb}/include")
endif()
