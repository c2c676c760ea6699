#include "cuda/arguments.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/rounding.h"

namespace tritogen::cuda {
namespace {

// cuTensorMapEncodeTiled's own limits.
constexpr int64_t kMaxBox = 256;
constexpr uint64_t kMaxTensorMapStride = uint64_t{1} << 40;

template <typename... Parts>
[[noreturn]] void Mismatch(fmt::format_string<Parts...> format, Parts&&... parts) {
  throw LaunchMismatch(fmt::format(format, std::forward<Parts>(parts)...));
}

// Triton numbers element types on the device a little differently from CUtensorMapDataType (driver.py,
// TMA_DTYPE_DEVICE_TO_HOST).
int HostElementType(int device_type) {
  switch (device_type) {
    case 8:
      return 10;
    case 9:
      return 8;
    case 10:
      return 9;
    default:
      return device_type;
  }
}

}  // namespace

TensorMapRequest MakeTensorMapRequest(const TensorMapLayout& layout, const DescriptorArg& descriptor,
                                      uint64_t address) {
  const size_t rank = layout.block.size();
  if (descriptor.shape.size() != rank || descriptor.strides.size() != rank || rank < 1 || rank > 5) {
    Mismatch("a descriptor of rank {} for a tensor map of rank {}", descriptor.shape.size(), rank);
  }
  if (descriptor.strides.back() != 1) Mismatch("the last stride of a descriptor must be 1");
  if (address % 16 != 0) Mismatch("the base address of a descriptor must be a multiple of 16 bytes");
  TensorMapRequest request;
  request.data_type = HostElementType(layout.element_type);
  request.swizzle = layout.swizzle;
  request.nan_fill = descriptor.pad_nan;
  request.address = address;
  for (size_t i = rank; i-- > 0;) {
    const int64_t size = descriptor.shape[i] * (i + 1 == rank && layout.fp4_padded ? 2 : 1);
    if (size < 1 || size > std::numeric_limits<uint32_t>::max()) {
      Mismatch("a descriptor's sizes are between 1 and 2^32 - 1, not {}", size);
    }
    if (layout.block[i] < 1 || layout.block[i] > kMaxBox) {
      Mismatch("a tensor map copies at most {} elements in each dimension at once, not {}", kMaxBox,
               layout.block[i]);
    }
    request.shape.push_back(static_cast<uint64_t>(size));
    request.box.push_back(static_cast<uint32_t>(layout.block[i]));
    if (i + 1 == rank) continue;
    const uint64_t stride = static_cast<uint64_t>(descriptor.strides[i]) * layout.element_bytes;
    if (stride % 16 != 0 || stride >= kMaxTensorMapStride) {
      Mismatch("a descriptor's strides are multiples of 16 bytes, not {} bytes", stride);
    }
    request.strides.push_back(stride);
  }
  return request;
}

// Goes through the TTIR function's parameters and puts their values one by one.
class ArgumentPacker {
 public:
  ArgumentPacker(const CompiledKernel& kernel, const AddressOf& address_of, const EncodeTensorMap& encode,
                 PackedArguments* out)
      : kernel_(kernel), address_of_(address_of), encode_(encode), out_(*out) {}

  void Pack(std::span<const KernelArg> args, std::array<uint64_t, 2> scratch) {
    for (const KernelArg& arg : args) {
      std::visit([this](const auto& value) { Put(value); }, arg);
    }
    if (next_ != kernel_.parameters.size()) Fail("has no argument");
    for (int i = 0; i < kernel_.scratch_parameters; ++i) Write(scratch[i]);
    CheckAgainstCubin();
  }

 private:
  [[noreturn]] void Fail(std::string_view what) const {
    Mismatch("parameter {} of {} {}", next_, kernel_.name, what);
  }

  const Parameter& Next() const {
    if (next_ >= kernel_.parameters.size()) {
      Mismatch("{} has {} parameters, the launch has more arguments", kernel_.name,
               kernel_.parameters.size());
    }
    return kernel_.parameters[next_];
  }

  void WriteBytes(const void* bytes, size_t size, size_t alignment) {
    const size_t at = RoundUp(out_.bytes_.size(), alignment);
    out_.bytes_.resize(at + size);
    std::memcpy(out_.bytes_.data() + at, bytes, size);
    out_.offsets_.push_back(at);
    out_.sizes_.push_back(size);
  }

  template <typename T>
  void Write(T value) {
    WriteBytes(&value, sizeof value, sizeof value);
  }

  void Put(const PointerArg& arg) {
    if (Next().kind != Parameter::Kind::kPointer) Fail("is no pointer");
    Write(address_of_(arg.tensor));
    ++next_;
  }

  void Put(int64_t value) {
    if (Next().kind != Parameter::Kind::kInteger) Fail("is no integer");
    WriteInteger(value, Next().bits);
    ++next_;
  }

  // Triton's signatures know signed and unsigned integers, TTIR does not: either range fits.
  void WriteInteger(int64_t value, int bits) {
    if (bits < 64) {
      const int64_t low = bits == 1 ? 0 : -(int64_t{1} << (bits - 1)), high = (int64_t{1} << bits) - 1;
      if (value < low || value > high) Fail(fmt::format("is an i{}, which cannot hold {}", bits, value));
    }
    switch (bits) {
      case 1:
      case 8:
        return Write(static_cast<uint8_t>(value));
      case 16:
        return Write(static_cast<uint16_t>(value));
      case 32:
        return Write(static_cast<uint32_t>(value));
      default:
        return Write(static_cast<uint64_t>(value));
    }
  }

  void Put(double value) {
    const auto single = static_cast<float>(value);
    switch (Next().kind) {
      case Parameter::Kind::kFloat64:
        Write(std::bit_cast<uint64_t>(value));
        break;
      case Parameter::Kind::kFloat32:
        Write(std::bit_cast<uint32_t>(single));
        break;
      case Parameter::Kind::kFloat16:
        Write(std::bit_cast<uint16_t>(static_cast<_Float16>(value)));
        break;
      case Parameter::Kind::kBFloat16:  // cut, not rounded, as Triton's launcher does
        Write(static_cast<uint16_t>(std::bit_cast<uint32_t>(single) >> 16));
        break;
      default:
        Fail("is no floating-point number");
    }
    ++next_;
  }

  // Stands for itself and the shapes and strides after it.
  void Put(const DescriptorArg& arg) {
    const Parameter parameter = Next();
    if (parameter.kind != Parameter::Kind::kDescriptor) Fail("is no tensor descriptor");
    const size_t rank = parameter.rank;
    if (arg.shape.size() != rank || arg.strides.size() != rank) {
      Fail(fmt::format("is a descriptor of rank {}, not {}", rank, arg.shape.size()));
    }
    const uint64_t address = address_of_(arg.tensor);
    if (parameter.has_tensor_map) {
      const auto map = encode_(MakeTensorMapRequest(parameter.tensor_map, arg, address));
      WriteBytes(map.data(), map.size(), 64);
    } else {
      Write(address);
      for (int64_t size : arg.shape) Write(size);
      for (int64_t stride : arg.strides) Write(stride);
      Write(static_cast<uint8_t>(arg.pad_nan));
    }
    ++next_;
    for (int64_t size : arg.shape) Put(size);
    for (int64_t stride : arg.strides) Put(stride);
  }

  void CheckAgainstCubin() const {
    bool same = out_.size() == kernel_.slots.size();
    for (size_t i = 0; same && i < out_.size(); ++i) {
      same = out_.sizes_[i] == static_cast<size_t>(kernel_.slots[i].bytes);
    }
    if (!same) Mismatch("the arguments of {} do not add up to the parameters of its cubin", kernel_.name);
  }

  const CompiledKernel& kernel_;
  const AddressOf& address_of_;
  const EncodeTensorMap& encode_;
  PackedArguments& out_;
  size_t next_ = 0;
};

PackedArguments::PackedArguments(const CompiledKernel& kernel, std::span<const KernelArg> args,
                                 const AddressOf& address_of, const EncodeTensorMap& encode,
                                 std::array<uint64_t, 2> scratch) {
  constexpr size_t kWidest = sizeof(uint64_t);  // of what is no tensor map
  bytes_.reserve((args.size() + scratch.size()) * kWidest);
  offsets_.reserve(args.size() + scratch.size());
  sizes_.reserve(args.size() + scratch.size());
  ArgumentPacker(kernel, address_of, encode, this).Pack(args, scratch);
}

std::span<const std::byte> PackedArguments::operator[](size_t i) const {
  return std::span(bytes_).subspan(offsets_[i], sizes_[i]);
}

std::vector<void*> PackedArguments::pointers() {
  std::vector<void*> pointers;
  pointers.reserve(offsets_.size());
  for (size_t offset : offsets_) pointers.push_back(bytes_.data() + offset);
  return pointers;
}

}  // namespace tritogen::cuda
