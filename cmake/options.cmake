# What every target shares: include root, warnings, sanitizers. Linked as `cove_options`.
find_package(Threads REQUIRED)

add_library(cove_options INTERFACE)
target_include_directories(cove_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
# A field that a designated initialiser leaves out has its harmless default: that is what spec structs are for.
target_compile_options(cove_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in `"text" + string` that are not there (GCC bug 105651).
  # In batches, and behind precompiled headers, it also sees writes beyond strings, and types of another file.
  # A batch fits into memory: collecting garbage in between takes a twentieth of the time.
  target_compile_options(cove_options INTERFACE -Werror -Wno-restrict --param=ggc-min-heapsize=1000000
    $<$<BOOL:${COVE_TOGETHER}>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-subobject-linkage>
    -Wzero-as-null-pointer-constant -Wsuggest-override -Wduplicated-cond -Wlogical-op -Wextra-semi)
else()
  # clang reports libstdc++ 12's own use of what it deprecates, once its headers are precompiled.
  target_compile_options(cove_options INTERFACE -Wno-deprecated-declarations)
endif()
if(COVE_SANITIZE)
  # Of tests, only what they do with memory is checked; the code that they test has all the checks.
  target_compile_options(cove_options INTERFACE
    -fsanitize=${COVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<BOOL:$<TARGET_PROPERTY:COVE_IS_TEST>>>:-fno-sanitize=undefined$<COMMA>fuzzer-no-link>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(COVE_SANITIZE MATCHES "address")
    target_compile_definitions(cove_options INTERFACE COVE_ADDRESS_SANITIZER)
  endif()
  target_link_options(cove_options INTERFACE -fsanitize=${COVE_SANITIZE})
endif()

# cove_quick_flags(TARGET): of code that is compiled more often than it runs. Sanitizers report a test by its name.
function(cove_quick_flags name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  if(COVE_SANITIZE)
    target_compile_options(${name} PRIVATE -g0)
  endif()
  set_target_properties(${name} PROPERTIES COVE_IS_TEST ON)
endfunction()

# cove_hidden(TARGET): fit for libcove.so, too, so that everything is compiled once. Hidden names cannot be replaced from
# outside, so the compiler inlines as it does in a program.
function(cove_hidden)
  set_target_properties(${ARGN} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()
