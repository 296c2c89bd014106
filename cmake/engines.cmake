# Engines for tests, each started once: a test that needs one names it.
if(NOT COVE_TESTS)
  return()
endif()
set(COVE_ENGINES_DIR ${CMAKE_BINARY_DIR}/engines)
string(LENGTH ${COVE_ENGINES_DIR} length)
if(length GREATER 70)  # sockets are in it
  string(MD5 hash ${CMAKE_BINARY_DIR})
  string(SUBSTRING ${hash} 0 12 hash)
  set(COVE_ENGINES_DIR /tmp/cove-engines-${hash})
endif()

foreach(kind docker podman)
  foreach(verb up down)
    add_test(NAME engines.${kind}.${verb}
      COMMAND ${PROJECT_SOURCE_DIR}/tests/engines/engines ${verb} ${kind} ${COVE_ENGINES_DIR}/${kind})
    set_tests_properties(engines.${kind}.${verb} PROPERTIES LABELS engines TIMEOUT 120 SKIP_RETURN_CODE 77)
  endforeach()
  set_tests_properties(engines.${kind}.up PROPERTIES FIXTURES_SETUP ${kind})
  set_tests_properties(engines.${kind}.down PROPERTIES FIXTURES_CLEANUP ${kind})
endforeach()

# cove_needs_engine(KIND TEST): in an environment where that engine answers and `make_spec()` means it.
function(cove_needs_engine kind test)
  set(dir ${COVE_ENGINES_DIR}/${kind})
  set(env COVE_TEST_BACKEND=${kind} COVE_TEST_ENGINE=${dir} COVE_IMAGE=cove-test:full
    COVE_TEST_BIG_BYTES=1000000000)
  if(kind STREQUAL docker)
    list(APPEND env DOCKER_HOST=unix://${dir}/docker.sock)
  else()
    list(APPEND env CONTAINERS_CONF=${dir}/containers.conf CONTAINERS_STORAGE_CONF=${dir}/storage.conf)
  endif()
  set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${kind} SKIP_RETURN_CODE 77 ENVIRONMENT "${env}")
endfunction()
