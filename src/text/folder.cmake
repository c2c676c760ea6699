# Prompts are files of their own, and part of the program.
file(GLOB prompts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/text/prompts/*.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${prompts})
set(prompt_rows "")
foreach(prompt ${prompts})
  get_filename_component(prompt_name ${prompt} NAME_WE)
  file(READ ${prompt} prompt_text)
  string(APPEND prompt_rows "    {\"${prompt_name}\", R\"prompt(${prompt_text})prompt\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/text/prompt_table.h @ONLY CONTENT
"// Made from src/text/prompts/.
#pragma once

#include <string_view>
#include <utility>

namespace tritogen {

inline constexpr std::pair<std::string_view, std::string_view> kPromptFiles[] = {
@prompt_rows@};

}  // namespace tritogen
")
target_include_directories(text PRIVATE ${CMAKE_BINARY_DIR}/generated)
