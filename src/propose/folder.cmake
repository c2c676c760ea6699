# libcurl is loaded at run time; only its headers are needed here.
find_path(CURL_HEADERS curl/curl.h REQUIRED)
target_include_directories(propose SYSTEM PUBLIC ${CURL_HEADERS})
target_link_libraries(propose PRIVATE ${CMAKE_DL_LIBS})
