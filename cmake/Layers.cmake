# Functions that turn folders into targets. Sources are globbed with CONFIGURE_DEPENDS: adding a file needs no edit here.

include_guard(GLOBAL)

# timelake_layer(<folder> <what it links>...): the static library tl_<folder> of src/<folder>; an INTERFACE library
# as long as the folder has no source file. Layers are collected in TIMELAKE_LAYERS (with sources) in the caller.
function(timelake_layer folder)
  file(GLOB sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/src/${folder}/*.cc" "${PROJECT_SOURCE_DIR}/src/${folder}/*/*.cc")
  if(sources)
    add_library(tl_${folder} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(tl_${folder} PRIVATE timelake_options)
    list(APPEND TIMELAKE_LAYERS tl_${folder})
    set(TIMELAKE_LAYERS ${TIMELAKE_LAYERS} PARENT_SCOPE)
  else()
    add_library(tl_${folder} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(tl_${folder} ${scope} "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(tl_${folder} ${scope} ${ARGN})
endfunction()

# timelake_test(<name> <sources> <what it links>...): a GoogleTest program, also known to ctest. gtest_main is a static
# library, so a main() among the sources takes its place.
function(timelake_test name sources)
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE TL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE timelake_options ${ARGN} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endfunction()
