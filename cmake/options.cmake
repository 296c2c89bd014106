# What every target shares: include root, warnings, sanitizers. Linked as `cove_options`.
find_package(Threads REQUIRED)

add_library(cove_options INTERFACE)
target_include_directories(cove_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
# A field that a designated initialiser leaves out has its harmless default: that is what spec structs are for.
target_compile_options(cove_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in `"text" + string` that are not there (GCC bug 105651).
  target_compile_options(cove_options INTERFACE -Werror -Wno-restrict
    -Wzero-as-null-pointer-constant -Wsuggest-override -Wduplicated-cond -Wlogical-op -Wextra-semi)
else()
  # clang reports libstdc++ 12's own use of what it deprecates, once its headers are precompiled.
  target_compile_options(cove_options INTERFACE -Wno-deprecated-declarations)
endif()
if(COVE_SANITIZE)
  target_compile_options(cove_options INTERFACE
    -fsanitize=${COVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(COVE_SANITIZE MATCHES "address")
    target_compile_definitions(cove_options INTERFACE COVE_ADDRESS_SANITIZER)
  endif()
  target_link_options(cove_options INTERFACE -fsanitize=${COVE_SANITIZE})
endif()

# What most sources include, read once for all of them: a build with sanitizers takes half the time. What is shipped is
# built without it, so that every file says what it needs.
if(COVE_PRECOMPILE)
  find_package(GTest REQUIRED)
  find_package(nlohmann_json REQUIRED)
  add_library(cove_headers OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
  target_link_libraries(cove_headers PRIVATE cove_options GTest::gtest nlohmann_json::nlohmann_json)
  target_precompile_headers(cove_headers PRIVATE ${CMAKE_CURRENT_LIST_DIR}/precompiled.h)
endif()

# cove_precompiled(NAME...): not for what is compiled without exceptions.
function(cove_precompiled)
  if(COVE_PRECOMPILE)
    foreach(name ${ARGN})
      target_precompile_headers(${name} REUSE_FROM cove_headers)
    endforeach()
  endif()
endfunction()

# Tests always do: GoogleTest's headers are half of what they take.
if(COVE_TESTS AND NOT COVE_PRECOMPILE)
  find_package(GTest REQUIRED)
  add_library(cove_test_headers OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
  target_link_libraries(cove_test_headers PRIVATE cove_options GTest::gtest)
  target_compile_options(cove_test_headers PRIVATE $<$<CONFIG:Release>:-O0>)
  target_precompile_headers(cove_test_headers PRIVATE ${CMAKE_CURRENT_LIST_DIR}/precompiled_tests.h)
endif()

# cove_together(NAME...): eight of its files are compiled as one, which takes half the time.
function(cove_together)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# cove_apart(FILE...): not those, because what they have in an unnamed namespace bears the name of another file's.
macro(cove_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

# cove_built_quickly(NAME...): for tests, which take longer to compile than to run.
function(cove_built_quickly)
  foreach(name ${ARGN})
    cove_together(${name})
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
    if(COVE_PRECOMPILE)
      cove_precompiled(${name})
    elseif(COVE_TESTS)
      target_precompile_headers(${name} REUSE_FROM cove_test_headers)
    endif()
  endforeach()
endfunction()

# cove_library(NAME [BARE] [APART] SOURCES ... LINKS ...): a static library of one folder. BARE: without exceptions.
# APART: as cove_apart, for all of its files.
function(cove_library name)
  cmake_parse_arguments(arg "BARE;APART" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC cove_options ${arg_LINKS})
  if(arg_BARE)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  else()
    cove_precompiled(${name})
  endif()
  if(COVE_PRECOMPILE AND NOT arg_APART)
    cove_together(${name})
  endif()
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
