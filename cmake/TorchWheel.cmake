# libtorch from the PyPI wheel in the virtual environment, without find_package(Torch), which wants a CUDA toolkit.
# Cache variable TRITOGEN_SITE_PACKAGES: the site-packages folder that holds torch/ and triton/ (./tritogen sets it).
if(NOT TRITOGEN_SITE_PACKAGES)
  file(GLOB found ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages)
  set(TRITOGEN_SITE_PACKAGES "${found}" CACHE PATH "site-packages with torch" FORCE)
endif()
set(torch_root ${TRITOGEN_SITE_PACKAGES}/torch)
# The interpreter of these packages, for the kernels that are compiled to TTIR while building (./tritogen sets it, too).
if(NOT TRITOGEN_PYTHON_PROGRAM)
  get_filename_component(python_prefix ${TRITOGEN_SITE_PACKAGES}/../../.. ABSOLUTE)
  set(TRITOGEN_PYTHON_PROGRAM ${python_prefix}/bin/python3 CACHE FILEPATH "Python with torch and Triton" FORCE)
endif()
if(NOT EXISTS ${torch_root}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no torch wheel under '${TRITOGEN_SITE_PACKAGES}': run ./tritogen doctor, or pass "
                      "-DTRITOGEN_SITE_PACKAGES=<venv>/lib/python3.x/site-packages")
endif()
add_library(torch-wheel INTERFACE)
target_include_directories(torch-wheel SYSTEM INTERFACE ${torch_root}/include
                           ${torch_root}/include/torch/csrc/api/include)
target_link_libraries(torch-wheel INTERFACE ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
target_link_options(torch-wheel INTERFACE -Wl,-rpath,${torch_root}/lib)
add_library(torch-fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/torch_fmt.cc)
target_include_directories(torch-fmt SYSTEM PRIVATE ${torch_root}/include)
target_link_libraries(torch-wheel INTERFACE torch-fmt)
