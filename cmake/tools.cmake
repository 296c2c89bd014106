# Faster tools where the machine has them. Neither changes what is built.
find_program(COVE_CCACHE ccache)
if(COVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${COVE_CCACHE})
endif()

find_program(COVE_MOLD mold)
if(COVE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
