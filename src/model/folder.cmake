# Logits of checkpoints, and checkpoints written again; tests/models compares them with transformers.
add_executable(model_logits ${CMAKE_SOURCE_DIR}/tests/models/model_logits.cc)
target_link_libraries(model_logits PRIVATE model)
set_target_properties(model_logits PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(model_logits PRIVATE -fPIC)
target_precompile_headers(model_logits REUSE_FROM model)
