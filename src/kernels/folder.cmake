# The kernels' TTIR is made by the Triton of the wheels that the program runs with, and becomes part of it.
file(GLOB kernel_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.py)
set(kernel_table ${CMAKE_BINARY_DIR}/generated/kernels/table.cc)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/kernels)
add_custom_command(OUTPUT ${kernel_table} DEPENDS ${kernel_sources}
                   COMMAND ${TRITOGEN_PYTHON_PROGRAM} ${CMAKE_SOURCE_DIR}/kernels/emit.py ${kernel_table}
                   COMMENT "Compiling Tritogen's own kernels to TTIR" VERBATIM)
target_sources(kernels PRIVATE ${kernel_table})
