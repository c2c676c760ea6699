#include "verify/aten_value.h"

#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <fmt/format.h>

#include "device/aten_dtype.h"

namespace tritogen {
namespace {

using Kind = PreparedArgument::Kind;

[[noreturn]] void Mismatch(const c10::Type& type) {
  throw ArgumentError(fmt::format("expected {}", type.str()));
}

const c10::Type& ElementOf(const c10::Type& type) {
  if (const auto* optional = type.castRaw<c10::OptionalType>()) return *optional->getElementType();
  return *type.castRaw<c10::ListType>()->getElementType();
}

int64_t IntOf(const Value& value, const c10::Type& type) {
  if (const auto* i = std::get_if<int64_t>(&value.v)) return *i;
  if (const auto* b = std::get_if<bool>(&value.v)) return *b;
  Mismatch(type);
}

double FloatOf(const Value& value, const c10::Type& type) {
  if (const auto* d = std::get_if<double>(&value.v)) return *d;
  return static_cast<double>(IntOf(value, type));
}

bool BoolOf(const Value& value, const c10::Type& type) {
  if (const auto* b = std::get_if<bool>(&value.v)) return *b;
  int64_t i = IntOf(value, type);
  if (i != 0 && i != 1) Mismatch(type);
  return i == 1;
}

at::Scalar ScalarOf(const Value& value, const c10::Type& type) {
  if (const auto* b = std::get_if<bool>(&value.v)) return at::Scalar(*b);
  if (const auto* i = std::get_if<int64_t>(&value.v)) return at::Scalar(*i);
  return at::Scalar(FloatOf(value, type));
}

int64_t LayoutOf(const Value& value, const c10::Type& type) {
  const auto* layout = std::get_if<LayoutValue>(&value.v);
  if (!layout || layout->name != "strided") Mismatch(type);
  return static_cast<int64_t>(at::kStrided);
}

int64_t MemoryFormatOf(const Value& value, const c10::Type& type) {
  const auto* format = std::get_if<MemoryFormatValue>(&value.v);
  if (!format) Mismatch(type);
  if (format->name == "contiguous_format") return static_cast<int64_t>(at::MemoryFormat::Contiguous);
  if (format->name == "preserve_format") return static_cast<int64_t>(at::MemoryFormat::Preserve);
  if (format->name == "channels_last") return static_cast<int64_t>(at::MemoryFormat::ChannelsLast);
  if (format->name == "channels_last_3d") return static_cast<int64_t>(at::MemoryFormat::ChannelsLast3d);
  Mismatch(type);
}

int64_t DtypeOf(const Value& value, const c10::Type& type, bool in_float64) {
  const auto* dtype = std::get_if<Dtype>(&value.v);
  if (!dtype) Mismatch(type);
  return static_cast<int64_t>(in_float64 ? InFloat64(*dtype) : ToScalarType(*dtype));
}

template <typename T, typename F>
c10::IValue ListOf(const Value& value, const c10::Type& type, std::optional<int32_t> length, F convert) {
  c10::List<T> out;
  if (const auto* items = std::get_if<Value::List>(&value.v)) {
    for (const Value& item : *items) out.push_back(convert(item, type));
  } else if (length) {  // `int[2] stride` accepts one number for both
    for (int32_t i = 0; i < *length; ++i) out.push_back(convert(value, type));
  } else {
    Mismatch(type);
  }
  return out;
}

c10::IValue ConvertList(const c10::Type& list, const Value& value, std::optional<int32_t> length) {
  const c10::Type& element = ElementOf(list);
  switch (element.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return ListOf<int64_t>(value, list, length, IntOf);
    case c10::TypeKind::FloatType:
      return ListOf<double>(value, list, length, FloatOf);
    case c10::TypeKind::BoolType:
      return ListOf<bool>(value, list, length, BoolOf);
    case c10::TypeKind::NumberType:
      return ListOf<at::Scalar>(value, list, length, ScalarOf);
    default:
      Mismatch(list);
  }
}

c10::IValue Convert(const c10::Type& type, const Value& value, std::optional<int32_t> length,
                    const ReplayTarget& target) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      if (std::holds_alternative<std::monostate>(value.v)) return {};
      return Convert(ElementOf(type), value, length, target);
    case c10::TypeKind::NumberType:
      return ScalarOf(value, type);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return IntOf(value, type);
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
      return FloatOf(value, type);
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
      return BoolOf(value, type);
    case c10::TypeKind::StringType:
      if (const auto* text = std::get_if<std::string>(&value.v)) return *text;
      Mismatch(type);
    case c10::TypeKind::ScalarTypeType:
      return DtypeOf(value, type, target.in_float64);
    case c10::TypeKind::DeviceObjType:
      if (std::holds_alternative<DeviceValue>(value.v)) return target.device;
      Mismatch(type);
    case c10::TypeKind::LayoutType:
      return LayoutOf(value, type);
    case c10::TypeKind::MemoryFormatType:
      return MemoryFormatOf(value, type);
    case c10::TypeKind::ListType:
      return ConvertList(type, value, length);
    default:
      Mismatch(type);
  }
}

// A number where a tensor is expected: ATen's "wrapped number", which does not take part in type promotion as
// a tensor would.
at::Tensor WrappedNumber(const at::Scalar& scalar) {
  at::Tensor tensor = at::scalar_tensor(scalar, scalar.type());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

PreparedArgument PrepareTensor(const c10::Type& type, const Value& value) {
  if (const auto* tensor = std::get_if<TensorRef>(&value.v)) return {{}, Kind::kTensor, {tensor->id}};
  return {WrappedNumber(ScalarOf(value, type)), Kind::kConstant, {}};
}

PreparedArgument PrepareTensorList(const c10::Type& type, const Value& value) {
  const auto* items = std::get_if<Value::List>(&value.v);
  if (!items) Mismatch(type);
  bool optional = ElementOf(type).kind() == c10::TypeKind::OptionalType;
  PreparedArgument out{{}, optional ? Kind::kOptionalTensorList : Kind::kTensorList, {}};
  for (const Value& item : *items) {
    if (const auto* tensor = std::get_if<TensorRef>(&item.v)) {
      out.tensors.push_back(tensor->id);
    } else if (optional && std::holds_alternative<std::monostate>(item.v)) {
      out.tensors.push_back(kNoTensor);
    } else {
      Mismatch(type);
    }
  }
  return out;
}

bool IsTensor(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::OptionalType) return IsTensor(ElementOf(type));
  return type.kind() == c10::TypeKind::TensorType;
}

}  // namespace

PreparedArgument PrepareArgument(const c10::Argument& argument, const Value& value,
                                 const ReplayTarget& target) {
  const c10::Type* type = argument.real_type().get();
  if (type->kind() == c10::TypeKind::OptionalType) {
    if (std::holds_alternative<std::monostate>(value.v)) return {};
    type = &ElementOf(*type);
  }
  if (type->kind() == c10::TypeKind::TensorType) return PrepareTensor(*type, value);
  if (type->kind() == c10::TypeKind::ListType && IsTensor(ElementOf(*type)))
    return PrepareTensorList(*type, value);
  return {Convert(*type, value, argument.N(), target), Kind::kConstant, {}};
}

}  // namespace tritogen
