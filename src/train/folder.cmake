# Steps of training over given documents; tests/train compares them with transformers and torch.optim.
add_executable(train_steps ${CMAKE_SOURCE_DIR}/tests/train/train_steps.cc)
target_link_libraries(train_steps PRIVATE train)
set_target_properties(train_steps PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(train_steps PRIVATE -fPIC)
target_precompile_headers(train_steps REUSE_FROM train)
