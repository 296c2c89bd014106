# Faster tools where the machine has them. Neither changes what is built.
find_program(COVE_CCACHE ccache)
if(COVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # It keeps nothing that used a precompiled header unless it is told that what those define may be taken as it is.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${COVE_CCACHE})
endif()

find_program(COVE_MOLD mold)
if(COVE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
