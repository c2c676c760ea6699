// Versions that reports and shipped modules name.
#pragma once

#include <string>
#include <vector>

namespace tritogen {

inline constexpr const char* kVersion = TRITOGEN_VERSION;
inline constexpr const char* kTorchVersion = "2.11.0";  // as requirements.lock pins them
inline constexpr const char* kTritonVersion = "3.6.0";

inline std::vector<std::string> Versions() {
  return {std::string("Tritogen ") + kVersion, std::string("torch ") + kTorchVersion,
          std::string("Triton ") + kTritonVersion};
}

}  // namespace tritogen
