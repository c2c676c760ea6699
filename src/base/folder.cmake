# Intrinsics with an immediate are macros without optimisation, functions with it. fmt asks for some optimisation of its
# own, and through a precompiled header GCC 12 takes that for ours: the debug preset got the functions, and no immediates.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/sha256.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
