# Builds are fast because files are compiled in batches, behind precompiled headers. Without COVE_TOGETHER each file is
# compiled by itself, without either: that build shows that every file includes what it uses.
#
# The batches are written here and not by UNITY_BUILD, which includes files by absolute path: these are the same text in
# every clone, so ccache finds what another clone has compiled.
set(COVE_BATCH 12 CACHE STRING "How many files are compiled as one: more compile faster in all, fewer after a change")

# A precompiled header belongs to a target, and is valid only for targets with the same flags.
function(cove_precompile name header)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${name} PRIVATE cove_options ${ARGN})
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/${header} headers REGEX "^#include")
  list(TRANSFORM headers REPLACE "^#include *" "")
  target_precompile_headers(${name} PRIVATE ${headers})  # by name: a path would differ between clones
endfunction()

if(COVE_TOGETHER)
  find_package(nlohmann_json REQUIRED)
  cove_precompile(cove_headers precompiled.h nlohmann_json::nlohmann_json)
  cove_hidden(cove_headers)
  if(COVE_TESTS)
    find_package(GTest REQUIRED)
    cove_precompile(cove_test_headers precompiled_tests.h GTest::gtest)
    cove_quick_flags(cove_test_headers)
  endif()
endif()

# cove_apart(FILE...): compiled by themselves, because their unnamed namespace has a name of another file's.
macro(cove_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

# Is FILE compiled by itself?
function(cove_is_apart result file)
  set(${result} OFF PARENT_SCOPE)
  get_source_file_property(apart ${file} SKIP_UNITY_BUILD_INCLUSION)
  get_source_file_property(definitions ${file} COMPILE_DEFINITIONS)
  if(apart OR definitions OR IS_ABSOLUTE ${file} OR NOT file MATCHES "\\.cc$")
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# cove_together(TARGET): its files become batches.
function(cove_together name)
  get_target_property(files ${name} SOURCES)
  set(kept "")
  set(includes "")
  set(batch 0)
  set(count 0)
  foreach(file IN LISTS files)
    cove_is_apart(apart ${file})
    if(apart)
      list(APPEND kept ${file})
      continue()
    endif()
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    string(APPEND includes "#include \"${path}\"\n")
    math(EXPR count "${count} + 1")
    if(count EQUAL COVE_BATCH)
      cove_write_batch(kept ${name} ${batch} "${includes}")
      math(EXPR batch "${batch} + 1")
      set(includes "")
      set(count 0)
    endif()
  endforeach()
  if(count GREATER 0)
    cove_write_batch(kept ${name} ${batch} "${includes}")
  endif()
  set_target_properties(${name} PROPERTIES SOURCES "${kept}")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

macro(cove_write_batch list name number text)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${name}-${number}.cc)
  file(CONFIGURE OUTPUT ${path} CONTENT "${text}")
  list(APPEND ${list} ${path})
endmacro()
