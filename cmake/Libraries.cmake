# Debian's header-only fmt and static archives, so that the binary travels.
add_library(fmt-header-only INTERFACE)
target_compile_definitions(fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
add_library(seccomp-static INTERFACE)
find_library(SECCOMP_ARCHIVE libseccomp.a REQUIRED)
target_link_libraries(seccomp-static INTERFACE ${SECCOMP_ARCHIVE})
add_library(sqlite-static INTERFACE)
find_library(SQLITE_ARCHIVE libsqlite3.a REQUIRED)
target_link_libraries(sqlite-static INTERFACE ${SQLITE_ARCHIVE} m ${CMAKE_DL_LIBS})
