# What a wheel build by scikit-build-core (pyproject.toml) finds otherwise than a build by hand.

include_guard(GLOBAL)

# Arrow of the interpreter that the wheel is for: pyarrow is a build requirement.
if(NOT TIMELAKE_PYARROW_DIR)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.util as u, os; print(os.path.dirname(u.find_spec('pyarrow').origin))"
    OUTPUT_VARIABLE _pyarrow OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(TIMELAKE_PYARROW_DIR "${_pyarrow}")
endif()

# DuckDB is no Python package with a library in it: fetched once into the checkout.
if(NOT TIMELAKE_DUCKDB_DIR AND NOT EXISTS "${PROJECT_SOURCE_DIR}/.deps/duckdb/include/duckdb.hpp")
  message(STATUS "DuckDB: fetching it into .deps/duckdb")
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/deps.sh" duckdb COMMAND_ERROR_IS_FATAL ANY)
endif()
