# Images from elsewhere: registries, and engines on this machine.
find_package(CURL REQUIRED)  # its header: the library is loaded when it is used

cove_library(cove_registry
  SOURCES
    url.cc          # addresses, and which may be plain
    curl_library.cc  # libcurl, loaded when it is needed
    http.cc         # requests, over libcurl
    challenge.cc    # WWW-Authenticate
    credentials.cc  # who we are, as docker and podman keep it
    auth.cc         # ... shown to a registry
    registry.cc     # manifests and blobs
    fetch.cc        # one blob into a file, resumed
    pull_layers.cc  # many at a time
    pull.cc         # one image
    engine.cc       # ... from docker or podman
    run_program.cc
    bars.cc         # a layer's line on a terminal
  LINKS cove_image ${CMAKE_DL_LIBS})
target_include_directories(cove_registry PUBLIC ${CURL_INCLUDE_DIRS})

cove_test(cove_registry_test
  SOURCES reference_test.cc url_test.cc http_test.cc challenge_test.cc credentials_test.cc auth_test.cc bars_test.cc
  LINKS cove_registry)
