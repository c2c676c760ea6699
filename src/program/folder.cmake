# Random calls of the catalogue's operators as JSON; tests/catalogue compares them with PyTorch.
add_executable(catalogue_cases ${CMAKE_SOURCE_DIR}/tests/catalogue/catalogue_cases.cc)
target_link_libraries(catalogue_cases PRIVATE program)
