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
    cove_quick_flags(${name})
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
endif()

# cove_gtest(NAME PROGRAM [SHARDS N] PROPERTIES ...): a GoogleTest program as one test, or as N that share its cases. One
# case by itself: PROGRAM --gtest_filter=Suite.Case. Results case by case are in gtest/NAME.xml, for scripts/count-tests.
function(cove_gtest name program)
  cmake_parse_arguments(arg "" "SHARDS" "PROPERTIES" ${ARGN})
  if(NOT arg_SHARDS)
    add_test(NAME ${name} COMMAND ${program})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/gtest/${name}.xml
      ${arg_PROPERTIES})
    return()
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    math(EXPR index "${shard} - 1")
    cove_gtest(${name}.${shard} ${program} PROPERTIES ${arg_PROPERTIES})
    set_property(TEST ${name}.${shard} APPEND PROPERTY ENVIRONMENT
      GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
  endforeach()
endfunction()

# cove_test(NAME [SHARDS N] SOURCES ... LINKS ...): unit tests that stand beside the code, in one program per folder.
function(cove_test name)
  cmake_parse_arguments(arg "" "SHARDS" "SOURCES;LINKS" ${ARGN})
  if(NOT COVE_TESTS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gtest GTest::gtest_main)
  cove_built_quickly(${name})
  string(REGEX REPLACE "^(cove_)?(.*)_test$" "unit.\\2" test ${name})
  cove_gtest(${test} ${name} SHARDS ${arg_SHARDS} PROPERTIES LABELS unit TIMEOUT 1200)
endfunction()
