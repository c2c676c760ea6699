# <cuda.h> for its types; the library itself is loaded at run time.
target_include_directories(cuda SYSTEM PUBLIC ${TRITOGEN_SITE_PACKAGES}/nvidia/cu13/include)
target_link_libraries(cuda PRIVATE ${CMAKE_DL_LIBS})
