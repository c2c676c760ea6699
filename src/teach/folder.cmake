# The teacher alone, for tests/teacher: a program as JSON in, answers as JSON out.
add_executable(teach_file ${CMAKE_SOURCE_DIR}/tests/teacher/teach_file.cc)
target_link_libraries(teach_file PRIVATE teach)
