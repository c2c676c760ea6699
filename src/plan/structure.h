// `structure` of a Plan as a tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritogen {

// A leaf, or a container of parts.
struct StructurePart {
  char opening = '*';             // of a container its bracket
  int number = 0;                 // among the leaves, or among the containers, as they are opened
  std::vector<std::string> keys;  // of a dict, as they are spelled
  std::vector<StructurePart> parts;

  bool is_leaf() const { return opening == '*'; }
  char closing() const { return opening == '(' ? ')' : opening == '[' ? ']' : '}'; }
  // A tuple of one, which a comma tells from brackets.
  bool is_single() const { return opening == '(' && parts.size() == 1; }
};

// Of a valid Plan.
StructurePart ReadStructure(std::string_view text);

}  // namespace tritogen
