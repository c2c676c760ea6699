#include "tile/arguments.h"

#include <fmt/format.h>

#include "tile/lanes/lanes.h"
#include "tile/pointer.h"

namespace tritogen::tile {
namespace {

class Binder {
 public:
  Binder(const Executable& kernel, size_t buffers, std::vector<int>* buffer_of_parameter)
      : kernel_(kernel), buffers_(buffers), buffer_of_parameter_(*buffer_of_parameter), image_(kernel.image) {
    buffer_of_parameter_.assign(kernel.parameters.size(), -1);
  }

  std::vector<std::byte> Bind(std::span<const Argument> arguments) {
    for (const Argument& argument : arguments) {
      if (next_ >= kernel_.parameters.size()) Fail("more arguments than parameters");
      std::visit([this](const auto& value) { Put(value); }, argument);
    }
    if (next_ != kernel_.parameters.size()) Fail("fewer arguments than parameters");
    return std::move(image_);
  }

 private:
  [[noreturn]] void Fail(std::string_view what) const {
    throw TtirError(0, fmt::format("argument {} of `{}`: {}", next_, kernel_.name, what));
  }
  const Type& parameter() const { return kernel_.parameters[next_]; }

  template <class T>
  void Write(T value) {
    StoreAs(image_.data() + kernel_.parameter_offsets[next_], value);
    ++next_;
  }

  uint64_t Encode(int buffer, int64_t offset) {
    if (buffer < 0 || static_cast<size_t>(buffer) >= buffers_) Fail("no such buffer");
    if (offset < -(kOffsetBias / 2) || offset > kOffsetBias / 2) Fail("its offset is too large");
    buffer_of_parameter_[next_] = buffer;
    return EncodePointer(buffer, offset);
  }

  void Put(const PointerArgument& value) {
    if (parameter().elem != Elem::kPtr) Fail("a pointer for a parameter that is none");
    Write(Encode(value.buffer, value.byte_offset));
  }

  void Put(int64_t value) {
    const Elem elem = parameter().elem;
    if (IsFloat(elem)) return Put(static_cast<double>(value));
    if (!IsInteger(elem)) Fail("a number for a pointer parameter");
    Write<uint64_t>(elem == Elem::kI1 ? value & 1 : static_cast<uint64_t>(value));
  }

  void Put(double value) {
    switch (parameter().elem) {
      case Elem::kF64:
        return Write(value);
      case Elem::kF32:
        return Write(static_cast<float>(value));
      case Elem::kF16:
        return Write(lanes::FloatToHalf(static_cast<float>(value)));
      case Elem::kBF16:
        return Write(lanes::FloatToBFloat(static_cast<float>(value)));
      default:
        Fail("a float for a parameter that is none");
    }
  }

  // Stands for itself and its shapes and strides.
  void Put(const DescriptorArgument& value) {
    const Type& type = parameter();
    const size_t rank = type.shape.size();
    if (type.elem != Elem::kDesc) Fail("a tensor descriptor for a parameter that is none");
    if (value.shape.size() != rank || value.strides.size() != rank || rank > kMaxDescriptorRank)
      Fail("a descriptor of another rank");
    DescriptorValue descriptor;
    descriptor.base = Encode(value.buffer, value.byte_offset);
    descriptor.pad_nan = value.pad_nan;
    std::copy(value.shape.begin(), value.shape.end(), descriptor.shape);
    std::copy(value.strides.begin(), value.strides.end(), descriptor.strides);
    Write(descriptor);
    for (const std::vector<int64_t>* sizes : {&value.shape, &value.strides}) {
      for (int64_t size : *sizes) {
        if (next_ >= kernel_.parameters.size() || !IsInteger(parameter().elem))
          Fail("a descriptor without shape and strides after it");
        Put(size);
      }
    }
  }

  const Executable& kernel_;
  size_t buffers_;
  std::vector<int>& buffer_of_parameter_;
  std::vector<std::byte> image_;
  size_t next_ = 0;
};

}  // namespace

std::vector<std::byte> BindArguments(const Executable& kernel, std::span<const Argument> arguments,
                                     size_t buffers, std::vector<int>* buffer_of_parameter) {
  return Binder(kernel, buffers, buffer_of_parameter).Bind(arguments);
}

}  // namespace tritogen::tile
