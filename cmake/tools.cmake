# Faster tools where the machine has them. Neither changes what is built.
find_program(COVE_CCACHE ccache)
if(COVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What one clone has compiled serves all clones of this machine: paths below the project are made relative. Files that
  # use a precompiled header are kept only if its macros are trusted, and that header itself only if it may be as new as
  # the configuration that wrote it.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_ABSSTDERR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${COVE_CCACHE})
endif()

find_program(COVE_MOLD mold)
if(COVE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
