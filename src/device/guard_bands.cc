#include "device/guard_bands.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <list>
#include <random>

#include "base/rounding.h"
#include "device/builtin_launch.h"
#include "device/raw_memory.h"

namespace tritogen {
namespace {

constexpr uint8_t kPattern = 0xa5;  // that of kernels/bytes.py
constexpr int64_t kGranule = 512;   // of the caching allocator, and so of every tensor's address
constexpr int64_t kMostShift = 64;  // in granules
constexpr size_t kAtOnce = 16;      // buffers of one launch of check_bands

}  // namespace

struct GuardBands::Registry {
  struct Block {
    at::Tensor front, back;  // the bands
    at::Tensor inside;       // a byte at the buffer's address
    int64_t bytes;           // of the buffer

    void Fill() const { LaunchBuiltin("fill_bands", 1, {front, back, front.numel(), back.numel()}); }
    int64_t memory() const { return front.numel() + bytes + back.numel(); }
  };

  // A buffer that dies before anybody asks (a temporary of the program) is still looked at.
  void Release(std::list<Block>::iterator block) noexcept {
    bytes_gone += block->memory();
    gone.splice(gone.end(), blocks, block);
    if (gone.size() >= kAtOnce || bytes_gone > kMostKept) CountGone();
  }

  void CountGone() noexcept {
    try {
      CountInto(gone.begin(), gone.end());
    } catch (const std::exception&) {  // the GPU is lost, and whoever waits for it hears so
    }
    Forget();
  }

  // Whoever gets the memory next comes behind the count on the stream.
  void Forget() noexcept {
    gone.clear();
    bytes_gone = 0;
  }

  // Addresses and sizes go along as arguments of the launch: no kernel can reach them.
  void CountInto(std::list<Block>::const_iterator block, std::list<Block>::const_iterator end) const {
    while (block != end) {
      std::vector<BuiltinArg> arguments, sizes;
      for (; block != end && sizes.size() < kAtOnce; ++block) {
        arguments.emplace_back(block->inside);
        sizes.emplace_back(block->bytes);
      }
      const auto programs = static_cast<int64_t>(sizes.size());
      arguments.resize(kAtOnce, arguments.front());
      sizes.resize(kAtOnce, sizes.front());
      arguments.insert(arguments.end(), sizes.begin(), sizes.end());
      arguments.emplace_back(broken);
      LaunchBuiltin("check_bands", programs, arguments);
    }
  }

  std::list<Block> blocks, gone;
  int64_t bytes_gone = 0;
  at::Tensor broken;  // the count
  std::minstd_rand random{std::random_device{}()};
};

GuardBands::GuardBands() : registry_(std::make_shared<Registry>()) {}
GuardBands::~GuardBands() = default;

at::Tensor GuardBands::Allocate(int64_t bytes, at::Device device) {
  const int64_t room = RoundUp(bytes, kGranule);
  const int64_t front = kBandBytes + static_cast<int64_t>(registry_->random() % kMostShift) * kGranule;
  const auto options = at::TensorOptions().dtype(at::kByte).device(device);
  const at::Tensor whole = at::empty({front + room + kBandBytes}, options);
  auto part = [&](int64_t at, int64_t count) { return ViewOf(whole, at::kByte, at, {count}, {1}); };
  Registry::Block block{part(front - kBandBytes, kBandBytes), part(front + bytes, room - bytes + kBandBytes),
                        part(front, 1), bytes};
  block.Fill();
  if (!registry_->broken.defined()) registry_->broken = at::zeros({1}, options.dtype(at::kInt));
  registry_->blocks.push_back(std::move(block));
  auto release = [registry = registry_, at = std::prev(registry_->blocks.end())](void*) {
    registry->Release(at);
  };
  return at::from_blob(whole.mutable_data_ptr<uint8_t>() + front, {bytes}, std::move(release), options,
                       device);
}

at::Tensor GuardBands::Copy(const at::Tensor& tensor) {
  const at::Tensor source = tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
  const at::Tensor memory = Allocate(static_cast<int64_t>(source.nbytes()), source.device());
  return ViewOf(memory, source.scalar_type(), 0, source.sizes(), source.strides()).copy_(source);
}

at::Tensor GuardBands::CountBroken() {
  Registry& registry = *registry_;
  const auto first_alive = registry.blocks.begin();
  registry.blocks.splice(first_alive, registry.gone);  // together: one launch for both
  registry.CountInto(registry.blocks.begin(), registry.blocks.end());
  registry.gone.splice(registry.gone.end(), registry.blocks, registry.blocks.begin(), first_alive);
  registry.Forget();
  return registry.broken;
}

void GuardBands::LetGo() {
  if (!registry_->gone.empty()) registry_->CountGone();
}

std::optional<std::string> GuardBands::Broken(const at::Tensor& count) {
  if (!count.defined() || count.item<int>() == 0) return std::nullopt;
  std::string found;
  for (const Registry::Block& block : registry_->blocks) {
    for (const bool behind : {false, true}) {
      const at::Tensor& band = behind ? block.back : block.front;
      const at::Tensor changed = band.ne(kPattern);
      if (found.empty() && changed.any().item<bool>()) {
        const int64_t first = changed.to(at::kByte).argmax().item<int64_t>();
        found =
            fmt::format("a write {} bytes {} a buffer of {} bytes", behind ? first + 1 : band.numel() - first,
                        behind ? "behind the end of" : "in front of", block.bytes);
      }
    }
    block.Fill();
  }
  registry_->broken.zero_();
  return found.empty() ? "a write beside a buffer that the call was done with" : found;
}

}  // namespace tritogen
