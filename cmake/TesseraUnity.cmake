# Unity builds: the compiler reads the files of a folder as one, in half of the time. Who changes one file waits longer, so
# that this is for those who compile all: CI, make demo, and sanitizers, whose libraries are always compiled so.
option(TESSERA_UNITY "compile the files of each folder as one" OFF)

# Folders whose files, or whose tests, have the same names in unnamed namespaces, as entries of registries and formats do.
set(TESSERA_APART app/explain collectives/classical io/write io/write/methods programs/io)
set(TESSERA_TESTS_APART app/config collectives fiber grid machine/survey md/constraint)
list(TRANSFORM TESSERA_APART PREPEND cpp/tessera/)
list(TRANSFORM TESSERA_TESTS_APART PREPEND cpp/tessera/)

# tessera_unite(target): compiles the files of each folder as one. Kernels, which Highway compiles several times, stay
# alone.
function(tessera_unite target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${source})
    get_filename_component(folder ${folder} DIRECTORY)
    file(STRINGS ${source} kernels REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    set(apart TESSERA_APART)
    if(source MATCHES "_test\\.cpp$")
      set(apart TESSERA_TESTS_APART)
    endif()
    if(NOT kernels AND NOT folder IN_LIST ${apart})
      string(MAKE_C_IDENTIFIER ${folder} group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # What one file names for itself is seen by the next; builds file by file warn of what is wrong.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# tessera_unite_if_asked(target): does so where TESSERA_UNITY is on.
function(tessera_unite_if_asked target)
  if(TESSERA_UNITY)
    tessera_unite(${target})
  endif()
endfunction()
