// Whatever a kernel does when it runs ends in a report: no access leaves its buffers, no loop outlives the
// deadline.
#include <cstddef>
#include <string_view>
#include <vector>

#include "tile/tile.h"

namespace tritogen::tile {
namespace {

constexpr size_t kBufferBytes = 4096;

void RunOnce(const Executable& kernel) {
  const std::vector<Parameter> parameters = Parameters(kernel);
  // Buffers of exact size on the heap: the sanitizer guards their ends.
  std::vector<std::vector<std::byte>> data;
  std::vector<std::vector<uint8_t>> defined;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  auto add_buffer = [&] {
    data.emplace_back(kBufferBytes);
    defined.emplace_back(kBufferBytes, data.size() % 2);
    buffers.push_back({data.back().data(), kBufferBytes, defined.back().data(), "buffer"});
    return static_cast<int>(buffers.size()) - 1;
  };
  data.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    switch (parameters[i].kind) {
      case Parameter::Kind::kPointer:
        arguments.push_back(PointerArgument{add_buffer(), 0});
        break;
      case Parameter::Kind::kInteger:
        arguments.push_back(int64_t{16});
        break;
      case Parameter::Kind::kFloat:
        arguments.push_back(0.5);
        break;
      case Parameter::Kind::kDescriptor: {
        const size_t rank = static_cast<size_t>(parameters[i].rank);
        arguments.push_back(DescriptorArgument{add_buffer(), 0, std::vector<int64_t>(rank, 8),
                                               std::vector<int64_t>(rank, 8)});
        i += 2 * rank;
        break;
      }
    }
  }
  LaunchOptions options;
  options.grid = {3, 1, 1};
  options.threads = 2;
  options.deadline_seconds = 0.1;
  Launch(kernel, arguments, buffers, options);
}

}  // namespace
}  // namespace tritogen::tile

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tritogen::tile::RunOnce(*tritogen::tile::Load({reinterpret_cast<const char*>(data), size}));
  } catch (const tritogen::tile::TtirError&) {
  }
  return 0;
}
