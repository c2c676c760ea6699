#include "device/builtin_launch.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/error.h"
#include "device/gpu.h"
#include "device/lowered_kernels.h"
#include "kernels/builtin.h"
#include "tile/tile.h"

namespace tritogen {
namespace {

void LaunchOnGpu(const std::string& name, const Grid& grid, std::span<const BuiltinArg> args) {
  Gpu& gpu = *Gpu::Current();
  LaunchVariant launch;
  launch.grid = grid.size;
  std::vector<uint64_t> addresses;
  for (const BuiltinArg& arg : args) {
    if (const auto* tensor = std::get_if<at::Tensor>(&arg)) {
      launch.args.emplace_back(PointerArg{static_cast<TensorId>(addresses.size())});
      addresses.push_back(reinterpret_cast<uint64_t>(tensor->data_ptr()));
    } else if (const auto* integer = std::get_if<int64_t>(&arg)) {
      launch.args.emplace_back(*integer);
    } else {
      launch.args.emplace_back(std::get<double>(arg));
    }
  }
  auto no_scratch = [](int64_t, int64_t) -> uint64_t { TRITOGEN_CHECK(false); };
  cuda::LaunchKernel(
      gpu.Builtin(name), launch, [&](TensorId id) { return addresses[id]; }, gpu.stream(), no_scratch);
}

// What the kernel's arguments are multiples of, as its text promises the compiler; 1: of nothing.
std::vector<int64_t> PromisedMultiples(const Kernel& kernel) {
  std::vector<int64_t> multiples;
  std::string_view text = kernel.ttir;
  text.remove_prefix(std::min(text.size(), text.find("tt.func public")));
  text = text.substr(0, text.find(") attributes"));
  constexpr std::string_view kHint = "tt.divisibility = ";
  for (size_t at = text.find('%'), next = 0; at < text.size(); at = next) {
    next = std::min(text.size(), text.find('%', at + 1));
    const std::string_view parameter = text.substr(at, next - at);
    const size_t hint = parameter.find(kHint);
    multiples.push_back(
        hint == parameter.npos ? 1 : std::stoll(std::string(parameter.substr(hint + kHint.size(), 20))));
  }
  return multiples;
}

// The tile machine does not ask, and a GPU would read and write other addresses than it was told.
void CheckMultiples(const std::string& name, std::span<const BuiltinArg> args) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<int64_t>> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(name);
  if (is_new) entry->second = PromisedMultiples(BuiltinKernel(name));
  TRITOGEN_CHECK(args.size() == entry->second.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const BuiltinArg& arg = args[i];
    int64_t value = 0;
    if (const auto* integer = std::get_if<int64_t>(&arg)) value = *integer;
    if (const auto* tensor = std::get_if<at::Tensor>(&arg))
      value = reinterpret_cast<int64_t>(tensor->data_ptr());
    if (value % entry->second[i] != 0) {
      throw InternalError(
          fmt::format("argument {} of kernel {} is {}, no multiple of {}", i, name, value, entry->second[i]));
    }
  }
}

void LaunchOnCpu(const std::string& name, const Grid& grid, std::span<const BuiltinArg> args) {
  CheckMultiples(name, args);
  std::vector<tile::Buffer> buffers;
  std::vector<tile::Argument> arguments;
  for (const BuiltinArg& arg : args) {
    if (const auto* tensor = std::get_if<at::Tensor>(&arg)) {
      auto* data = static_cast<std::byte*>(tensor->storage().mutable_data());
      auto same = [data](const tile::Buffer& buffer) { return buffer.data == data; };
      auto found = std::find_if(buffers.begin(), buffers.end(), same);
      if (found == buffers.end())
        found = buffers.insert(found, {data, tensor->storage().nbytes(), nullptr, name});
      arguments.emplace_back(
          tile::PointerArgument{static_cast<int>(found - buffers.begin()),
                                tensor->storage_offset() * static_cast<int64_t>(tensor->element_size())});
    } else if (const auto* integer = std::get_if<int64_t>(&arg)) {
      arguments.emplace_back(*integer);
    } else {
      arguments.emplace_back(std::get<double>(arg));
    }
  }
  tile::LaunchOptions options;
  options.grid = grid.size;
  const auto kernel = LoweredKernels::Global().Get(BuiltinKernel(name).ttir);
  const tile::LaunchReport report = tile::Launch(*kernel, arguments, buffers, options);
  if (!report.faults.empty()) throw InternalError(report.faults.front().message);
}

}  // namespace

void LaunchBuiltin(const std::string& name, const Grid& grid, std::span<const BuiltinArg> args) {
  for (const BuiltinArg& arg : args) {
    const auto* tensor = std::get_if<at::Tensor>(&arg);
    if (tensor == nullptr) continue;
    return tensor->device().is_cpu() ? LaunchOnCpu(name, grid, args) : LaunchOnGpu(name, grid, args);
  }
  TRITOGEN_CHECK(false);
}

const char* BuiltinDtype(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "f64";
    case at::kFloat:
      return "f32";
    case at::kHalf:
      return "f16";
    case at::kBFloat16:
      return "bf16";
    default:
      return nullptr;
  }
}

std::string BuiltinWidth(int64_t elements) {
  for (const int64_t width : {512, 1024, 2048, 4096, 8192}) {
    if (elements <= width && elements % 16 == 0) return std::to_string(width);
  }
  throw UserError(
      fmt::format("the kernels have no form for a hidden size of {}: multiples of 16 up to 8192", elements));
}

bool IsFlat(const at::Tensor& tensor) {
  return BuiltinDtype(tensor.scalar_type()) != nullptr && tensor.numel() > 0 && tensor.numel() < kMostFlat &&
         tensor.is_non_overlapping_and_dense();
}

}  // namespace tritogen
