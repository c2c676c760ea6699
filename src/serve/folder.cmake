# The server over a Generator without a model, for tests/serve.
add_executable(serve_double ${CMAKE_SOURCE_DIR}/tests/serve/double_server.cc)
target_link_libraries(serve_double PRIVATE serve)
