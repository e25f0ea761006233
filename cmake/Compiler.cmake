# Warnings, sanitizers, the compiler cache and the linker, for our own targets (timelake_options) or the whole build.

include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(timelake_options INTERFACE)
target_compile_options(timelake_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror=return-type -Wno-unused-parameter $<$<BOOL:${TIMELAKE_WERROR}>:-Werror>)

# address;undefined or thread. Neither _GLIBCXX_DEBUG nor _GLIBCXX_SANITIZE_VECTOR may be defined with it: standard
# containers cross the border to libraries that were built without.
if(TIMELAKE_SANITIZE)
  list(JOIN TIMELAKE_SANITIZE "," _sanitizers)
  add_compile_options(-fsanitize=${_sanitizers} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${_sanitizers})
  if("undefined" IN_LIST TIMELAKE_SANITIZE)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(TIMELAKE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "Fuzz targets need Clang (libFuzzer): use the preset `fuzz`")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The cache sees paths relative to the checkout, so build folders (and checkouts of equal depth) share their hits.
find_program(TIMELAKE_CCACHE ccache)
if(TIMELAKE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime ${TIMELAKE_CCACHE})
endif()

# GCC looks for ld.lld by name; a versioned lld alone is of no use to it.
find_program(TIMELAKE_LLD NAMES ld.lld)
if(TIMELAKE_LLD)
  add_link_options(-fuse-ld=lld)
endif()
# A program loads only what it uses: libarrow_s3 and libduckdb are large.
add_link_options(-Wl,--as-needed)

# Two links at a time keep a small machine out of swap.
set_property(GLOBAL PROPERTY JOB_POOLS link=2)
set(CMAKE_JOB_POOL_LINK link)
