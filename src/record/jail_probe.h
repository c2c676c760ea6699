// What this kernel gives for a jail, found by trying it. For `tritogen doctor`, and for refusing to go
// without.
#pragma once

#include <string>
#include <vector>

namespace tritogen {

struct JailFeature {
  std::string name;
  bool available = false;
  bool required = false;  // a jail without it counts as weak
  std::string detail;     // a version, or why it is missing and what to do
};

// In the order in which the jail uses them; after a refused step the ones that need it are missing, too.
std::vector<JailFeature> ProbeJail();

}  // namespace tritogen
