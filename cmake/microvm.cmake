# microVMs in tests: with QEMU, mkfs.erofs and a kernel, on a small root that is made once.
find_program(QEMU_PROGRAM qemu-system-x86_64)
find_program(EROFS_PROGRAM mkfs.erofs)
file(GLOB MICROVM_KERNELS /usr/lib/cove/kernel/boot/vmlinuz-* /boot/vmlinuz-*-cloud-*)
# A guest with a sanitizer is not static, and so no first program of a machine.
if(QEMU_PROGRAM AND EROFS_PROGRAM AND MICROVM_KERNELS AND COVE_SLOW_TESTS AND NOT COVE_SANITIZE)
  set(COVE_MICROVM_TESTS ON)
  add_test(NAME microvm.root COMMAND ${CMAKE_SOURCE_DIR}/tests/engines/make-root ${CMAKE_BINARY_DIR}/microvm-root)
  set_tests_properties(microvm.root PROPERTIES LABELS "conformance;integration;security" FIXTURES_SETUP microvm_root)
else()
  message(STATUS "QEMU, mkfs.erofs, a kernel or the release build is missing: microVMs are not tested")
endif()

# cove_needs_microvm(TEST...): their sandboxes are machines.
function(cove_needs_microvm)
  foreach(test ${ARGN})
    set(root ${CMAKE_BINARY_DIR}/microvm-root)
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED microvm_root
      ENVIRONMENT "COVE_TEST_BACKEND=microvm;COVE_TEST_ROOT=${root};COVE_IMAGE=${root};COVE_TEST_SLACK=4")
  endforeach()
endfunction()
