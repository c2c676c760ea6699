# The page's style sheet is a file of its own, and part of the program.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/report/page.css)
file(READ ${CMAKE_SOURCE_DIR}/src/report/page.css PAGE_CSS)
configure_file(${CMAKE_SOURCE_DIR}/src/report/page_css.h.in ${CMAKE_BINARY_DIR}/generated/report/page_css.h @ONLY)
target_include_directories(report PRIVATE ${CMAKE_BINARY_DIR}/generated)
