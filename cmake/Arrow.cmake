# Defines timelake::arrow, timelake::parquet, timelake::arrow_compute and timelake::arrow_s3.
#
# In this order:
#   1. an installed Arrow 26 with CMake config files;
#   2. the pyarrow package in TIMELAKE_PYARROW_DIR, by default the one that `make deps` put into .deps/venv,
#      else the one that the Python interpreter on the path sees (a wheel build with pyarrow as build requirement).
# The wheel ships headers and libraries named lib<name>.so.<so version> only, so they are linked by full path.

include_guard(GLOBAL)

set(TIMELAKE_ARROW_VERSION 26)
set(TIMELAKE_PYARROW_DIR "" CACHE PATH "Folder of a pyarrow ${TIMELAKE_ARROW_VERSION} package; empty: look for one")

function(_timelake_wrap_target name target)
  add_library(timelake::${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(timelake::${name} INTERFACE ${target})
endfunction()

function(_timelake_find_pyarrow out)
  if(TIMELAKE_PYARROW_DIR)
    set(${out} "${TIMELAKE_PYARROW_DIR}" PARENT_SCOPE)
    return()
  endif()
  file(GLOB found "${PROJECT_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/pyarrow")
  if(NOT found)
    find_program(_timelake_python NAMES python3 python)
    if(_timelake_python)
      execute_process(
        COMMAND ${_timelake_python} -c
                "import importlib.util as u, os; print(os.path.dirname(u.find_spec('pyarrow').origin))"
        OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(_timelake_pyarrow_target name library dir so_version)
  set(path "${dir}/lib${library}.so.${so_version}")
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "Arrow: ${path} is missing from the pyarrow package")
  endif()
  add_library(timelake::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(timelake::${name} PROPERTIES
    IMPORTED_LOCATION "${path}"
    IMPORTED_SONAME "lib${library}.so.${so_version}"
    INTERFACE_INCLUDE_DIRECTORIES "${dir}/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${dir}/include")
  foreach(other IN LISTS ARGN)
    target_link_libraries(timelake::${name} INTERFACE timelake::${other})
  endforeach()
endfunction()

if(NOT TIMELAKE_PYARROW_DIR)
  find_package(Arrow ${TIMELAKE_ARROW_VERSION} CONFIG QUIET)
  if(Arrow_FOUND)
    find_package(Parquet ${TIMELAKE_ARROW_VERSION} CONFIG REQUIRED HINTS "${Arrow_DIR}/../Parquet")
    find_package(ArrowCompute ${TIMELAKE_ARROW_VERSION} CONFIG REQUIRED HINTS "${Arrow_DIR}/../ArrowCompute")
  endif()
endif()

if(Arrow_FOUND)
  message(STATUS "Arrow: ${Arrow_VERSION} from ${Arrow_DIR}")
  _timelake_wrap_target(arrow Arrow::arrow_shared)
  _timelake_wrap_target(parquet Parquet::parquet_shared)
  _timelake_wrap_target(arrow_compute ArrowCompute::arrow_compute_shared)
  # An installed Arrow may still have S3 inside libarrow.
  find_package(ArrowS3 ${TIMELAKE_ARROW_VERSION} CONFIG QUIET HINTS "${Arrow_DIR}/../ArrowS3")
  if(TARGET ArrowS3::arrow_s3_shared)
    _timelake_wrap_target(arrow_s3 ArrowS3::arrow_s3_shared)
  else()
    _timelake_wrap_target(arrow_s3 Arrow::arrow_shared)
  endif()
else()
  _timelake_find_pyarrow(_pyarrow)
  if(NOT EXISTS "${_pyarrow}/include/arrow/util/config.h")
    message(FATAL_ERROR "Arrow ${TIMELAKE_ARROW_VERSION} not found: run `make deps`, install Arrow's development "
                        "files, or set TIMELAKE_PYARROW_DIR to a pyarrow package folder")
  endif()
  file(STRINGS "${_pyarrow}/include/arrow/util/config.h" _lines REGEX "define ARROW_(SO_VERSION|VERSION_STRING|VERSION_MAJOR)")
  string(REGEX MATCH "ARROW_SO_VERSION \"([0-9]+)\"" _ "${_lines}")
  set(_so_version "${CMAKE_MATCH_1}")
  string(REGEX MATCH "ARROW_VERSION_STRING \"([^\"]+)\"" _ "${_lines}")
  set(_version "${CMAKE_MATCH_1}")
  if(NOT _version VERSION_GREATER_EQUAL TIMELAKE_ARROW_VERSION)
    message(FATAL_ERROR "Arrow: ${_pyarrow} is version ${_version}, wanted ${TIMELAKE_ARROW_VERSION}")
  endif()
  message(STATUS "Arrow: ${_version} from ${_pyarrow}")
  _timelake_pyarrow_target(arrow arrow "${_pyarrow}" ${_so_version})
  _timelake_pyarrow_target(parquet parquet "${_pyarrow}" ${_so_version} arrow)
  _timelake_pyarrow_target(arrow_compute arrow_compute "${_pyarrow}" ${_so_version} arrow)
  _timelake_pyarrow_target(arrow_s3 arrow_s3 "${_pyarrow}" ${_so_version} arrow)
endif()
