# The kinds of targets that CMakeLists.txt files name.

# cove_library(NAME [BARE] SOURCES ... LINKS ...): a static library of one folder. BARE: without exceptions.
function(cove_library name)
  cmake_parse_arguments(arg "BARE" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC cove_options ${arg_LINKS})
  cove_hidden(${name})
  if(arg_BARE)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  if(COVE_TOGETHER)
    cove_together(${name})
    if(NOT arg_BARE)
      target_precompile_headers(${name} REUSE_FROM cove_headers)
    endif()
  endif()
endfunction()

# cove_built_quickly(NAME...): for tests, which take longer to compile than to run.
function(cove_built_quickly)
  foreach(name ${ARGN})
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
    if(COVE_TOGETHER)
      cove_together(${name})
      target_precompile_headers(${name} REUSE_FROM cove_test_headers)
    endif()
  endforeach()
endfunction()

# cove_program(NAME): one of the two programs that are shipped. They stand side by side, because `cove` looks for
# `cove-guest` beside itself.
function(cove_program name)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${COVE_PROGRAM_DIR})
  target_link_options(${name} PRIVATE $<$<CONFIG:Release>:-s>)
endfunction()

if(COVE_TESTS OR COVE_FUZZ)
  enable_testing()
endif()
if(COVE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# cove_test(NAME SOURCES ... LINKS ...): unit tests that stand beside the code, in one program per folder.
function(cove_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  if(NOT COVE_TESTS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gtest GTest::gtest_main)
  cove_built_quickly(${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
