# What every target shares: include root, warnings, sanitizers. Linked as `cove_options`.
find_package(Threads REQUIRED)

add_library(cove_options INTERFACE)
target_include_directories(cove_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(cove_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
if(COVE_SANITIZE)
  target_compile_options(cove_options INTERFACE -fsanitize=${COVE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(cove_options INTERFACE -fsanitize=${COVE_SANITIZE})
endif()

# cove_library(NAME SOURCES ... LINKS ...): a static library of one folder.
function(cove_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC cove_options ${arg_LINKS})
endfunction()

if(COVE_TESTS)
  enable_testing()
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
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
