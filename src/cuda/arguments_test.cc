#include "cuda/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/launch.h"

namespace tritogen::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Parameter::Kind;

// A kernel whose cubin has what its TTIR says, and the two scratch pointers.
CompiledKernel MakeKernel(std::vector<Parameter> parameters, std::vector<int> slot_bytes) {
  CompiledKernel kernel;
  kernel.name = "k";
  kernel.parameters = std::move(parameters);
  for (int bytes : slot_bytes) kernel.slots.push_back({bytes, std::min(bytes, 64)});
  return kernel;
}

Parameter Number(Kind kind, int bits = 64) {
  return {kind, bits};
}

uint64_t AddressOfTensor(TensorId id) {
  return 0x7f0000000000 + 0x1000 * static_cast<uint64_t>(id);
}

std::array<std::byte, kTensorMapBytes> NoTensorMap(const TensorMapRequest&) {
  ADD_FAILURE() << "no tensor map was asked for";
  return {};
}

PackedArguments Pack(const CompiledKernel& kernel, const std::vector<KernelArg>& args,
                     const EncodeTensorMap& encode = NoTensorMap) {
  return PackedArguments(kernel, args, AddressOfTensor, encode, {0x1111, 0x2222});
}

// The bytes of each parameter as a little-endian number.
std::vector<uint64_t> Values(const PackedArguments& packed) {
  std::vector<uint64_t> values;
  for (size_t i = 0; i < packed.size(); ++i) {
    uint64_t value = 0;
    std::memcpy(&value, packed[i].data(), std::min<size_t>(packed[i].size(), 8));
    values.push_back(value);
  }
  return values;
}

std::string MismatchOf(const CompiledKernel& kernel, const std::vector<KernelArg>& args) {
  try {
    Pack(kernel, args);
  } catch (const LaunchMismatch& mismatch) {
    return mismatch.what();
  }
  return "they fit";
}

TEST(Arguments, EveryKindOfNumberHasItsBytes) {
  const CompiledKernel kernel = MakeKernel(
      {Number(Kind::kPointer), Number(Kind::kInteger, 1), Number(Kind::kInteger, 8),
       Number(Kind::kInteger, 16), Number(Kind::kInteger, 32), Number(Kind::kInteger, 64),
       Number(Kind::kFloat16), Number(Kind::kBFloat16), Number(Kind::kFloat32), Number(Kind::kFloat64)},
      {8, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 8});
  const PackedArguments packed = Pack(kernel, {PointerArg{3}, int64_t{1}, int64_t{-2}, int64_t{65535},
                                               int64_t{-5}, int64_t{-1}, 1.5, 1.9999, 0.1, -0.1});
  EXPECT_THAT(Values(packed),
              ElementsAre(0x7f0000003000, 1, 0xfe, 0xffff, 0xfffffffb, 0xffffffffffffffff, 0x3e00,
                          0x3fff /* cut */, 0x3dcccccd, 0xbfb999999999999a, 0x1111, 0x2222));
}

TEST(Arguments, ValuesStandAtTheirAlignment) {
  const CompiledKernel kernel = MakeKernel(
      {Number(Kind::kInteger, 1), Number(Kind::kPointer), Number(Kind::kInteger, 32)}, {1, 8, 4, 8, 8});
  PackedArguments packed = Pack(kernel, {int64_t{1}, PointerArg{0}, int64_t{7}});
  const std::vector<void*> pointers = packed.pointers();
  ASSERT_EQ(pointers.size(), 5u);
  for (size_t i : {1, 3, 4}) EXPECT_EQ(reinterpret_cast<uintptr_t>(pointers[i]) % 8, 0u);
  EXPECT_EQ(*static_cast<int32_t*>(pointers[2]), 7);
}

TEST(Arguments, ScratchPointersOnlyWhereTheCubinHasThem) {
  CompiledKernel kernel = MakeKernel({Number(Kind::kPointer)}, {8});
  kernel.scratch_parameters = 0;
  EXPECT_THAT(Values(Pack(kernel, {PointerArg{0}})), ElementsAre(0x7f0000000000));
}

TEST(Arguments, WhatDoesNotFitIsAnError) {
  const CompiledKernel kernel =
      MakeKernel({Number(Kind::kPointer), Number(Kind::kInteger, 32)}, {8, 4, 8, 8});
  EXPECT_EQ(MismatchOf(kernel, {PointerArg{0}, int64_t{1}}), "they fit");
  EXPECT_THAT(MismatchOf(kernel, {PointerArg{0}}), HasSubstr("has no argument"));
  EXPECT_THAT(MismatchOf(kernel, {PointerArg{0}, int64_t{1}, int64_t{1}}), HasSubstr("more arguments"));
  EXPECT_THAT(MismatchOf(kernel, {int64_t{0}, int64_t{1}}), HasSubstr("is no integer"));
  EXPECT_THAT(MismatchOf(kernel, {PointerArg{0}, PointerArg{0}}), HasSubstr("is no pointer"));
  EXPECT_THAT(MismatchOf(kernel, {PointerArg{0}, 1.0}), HasSubstr("is no floating-point number"));
  EXPECT_THAT(MismatchOf(kernel, {PointerArg{0}, int64_t{1} << 32}), HasSubstr("cannot hold"));
  EXPECT_THAT(MismatchOf(kernel, {PointerArg{0}, DescriptorArg{0, {4}, {1}, {4}}}),
              HasSubstr("is no tensor"));
  CompiledKernel liar = kernel;
  liar.slots[1].bytes = 8;
  EXPECT_THAT(MismatchOf(liar, {PointerArg{0}, int64_t{1}}), HasSubstr("do not add up"));
}

Parameter Descriptor(bool tensor_map) {
  Parameter parameter{Kind::kDescriptor, 64, 2, tensor_map};
  if (tensor_map)
    parameter.tensor_map = {.swizzle = 3, .element_bytes = 2, .element_type = 6, .block = {32, 64}};
  return parameter;
}

std::vector<Parameter> WithDescriptor(bool tensor_map) {
  return {Descriptor(tensor_map), Number(Kind::kInteger, 32), Number(Kind::kInteger, 32),
          Number(Kind::kInteger, 64), Number(Kind::kInteger, 64)};
}

TEST(Arguments, ADescriptorIsATensorMapAndItsSizes) {
  const CompiledKernel kernel = MakeKernel(WithDescriptor(true), {128, 4, 4, 8, 8, 8, 8});
  TensorMapRequest asked;
  PackedArguments packed = Pack(kernel, {DescriptorArg{1, {100, 200}, {256, 1}, {32, 64}, true}},
                                [&](const TensorMapRequest& request) {
                                  asked = request;
                                  std::array<std::byte, kTensorMapBytes> map;
                                  map.fill(std::byte{0xab});
                                  return map;
                                });
  EXPECT_EQ(packed[0].size(), 128u);
  EXPECT_EQ(packed[0][127], std::byte{0xab});
  const std::vector<uint64_t> values = Values(packed);
  EXPECT_THAT(std::vector(values.begin() + 1, values.end()), ElementsAre(100, 200, 256, 1, 0x1111, 0x2222));
  EXPECT_EQ(asked.data_type, 6);
  EXPECT_EQ(asked.swizzle, 3);
  EXPECT_TRUE(asked.nan_fill);
  EXPECT_EQ(asked.address, AddressOfTensor(1));
  EXPECT_THAT(asked.shape, ElementsAre(200, 100));
  EXPECT_THAT(asked.strides, ElementsAre(512));
  EXPECT_THAT(asked.box, ElementsAre(64, 32));
}

TEST(Arguments, WithoutTmaADescriptorIsPointerSizesAndPadding) {
  const CompiledKernel kernel = MakeKernel(WithDescriptor(false), {8, 8, 8, 8, 8, 1, 4, 4, 8, 8, 8, 8});
  EXPECT_THAT(Values(Pack(kernel, {DescriptorArg{1, {100, 200}, {256, 1}, {32, 64}, true}})),
              ElementsAre(0x7f0000001000, 100, 200, 256, 1, 1, 100, 200, 256, 1, 0x1111, 0x2222));
}

TEST(Arguments, TensorMapsThatNoHardwareKnowsAreErrors) {
  const TensorMapLayout layout = Descriptor(true).tensor_map;
  const DescriptorArg good{0, {100, 200}, {256, 1}, {32, 64}};
  EXPECT_NO_THROW(MakeTensorMapRequest(layout, good, 0x1000));
  EXPECT_THROW(MakeTensorMapRequest(layout, good, 0x1008), LaunchMismatch);
  DescriptorArg odd_stride = good, empty = good, strided = good, flat = good;
  odd_stride.strides[0] = 201;
  empty.shape[0] = 0;
  strided.strides[1] = 2;
  flat.shape = flat.strides = {1};
  for (const DescriptorArg& bad : {odd_stride, empty, strided, flat}) {
    EXPECT_THROW(MakeTensorMapRequest(layout, bad, 0x1000), LaunchMismatch);
  }
}

TEST(Arguments, PackedFourBitNumbersCountTwice) {
  TensorMapLayout layout = Descriptor(true).tensor_map;
  layout.fp4_padded = true;
  EXPECT_THAT(MakeTensorMapRequest(layout, {0, {100, 64}, {64, 1}, {32, 64}}, 0).shape,
              ElementsAre(128, 100));
}

// The numbers that Triton's driver.py translates, TMA_DTYPE_DEVICE_TO_HOST.
TEST(Arguments, ElementTypesAreTheHosts) {
  TensorMapLayout layout = Descriptor(true).tensor_map;
  const std::pair<int, int> expected[] = {{0, 0}, {7, 7}, {8, 10}, {9, 8}, {10, 9}, {11, 11}};
  for (const auto& [device, host] : expected) {
    layout.element_type = device;
    EXPECT_EQ(MakeTensorMapRequest(layout, {0, {64, 64}, {64, 1}, {32, 64}}, 0).data_type, host);
  }
}

DeviceInfo SomeGpu() {
  DeviceInfo device;
  device.name = "some GPU";
  device.max_grid[0] = (int64_t{1} << 31) - 1;
  device.max_grid[1] = device.max_grid[2] = 65535;
  device.cooperative_launch = true;
  return device;
}

TEST(LaunchShape, PlainLaunchesHaveNoAttributes) {
  CompiledKernel kernel;
  kernel.num_warps = 8;
  kernel.shared_bytes = 100000;
  const LaunchShape shape(kernel, {10, 20, 30}, SomeGpu());
  EXPECT_FALSE(shape.empty);
  EXPECT_EQ(shape.config.gridDimX, 10u);
  EXPECT_EQ(shape.config.gridDimZ, 30u);
  EXPECT_EQ(shape.config.blockDimX, 256u);
  EXPECT_EQ(shape.config.sharedMemBytes, 100000u);
  EXPECT_EQ(shape.config.numAttrs, 0u);
}

TEST(LaunchShape, ClustersMultiplyTheGrid) {
  CompiledKernel kernel;
  kernel.num_ctas = 4;
  kernel.launch_pdl = kernel.launch_cooperative_grid = true;
  const LaunchShape shape(kernel, {10, 1, 1}, SomeGpu());
  EXPECT_EQ(shape.config.gridDimX, 40u);
  std::vector<int> ids;
  for (unsigned i = 0; i < shape.config.numAttrs; ++i) ids.push_back(shape.config.attrs[i].id);
  EXPECT_THAT(ids, ElementsAre(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                               CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE));
  EXPECT_EQ(shape.config.attrs[2].value.clusterDim.x, 4u);
}

TEST(LaunchShape, EmptyGridsAreEmptyAndTooLargeOnesErrors) {
  CompiledKernel kernel;
  EXPECT_TRUE(LaunchShape(kernel, {5, 0, 1}, SomeGpu()).empty);
  EXPECT_THROW(LaunchShape(kernel, {1, 65536, 1}, SomeGpu()), LaunchMismatch);
  EXPECT_THROW(LaunchShape(kernel, {1, 1, 65536}, SomeGpu()), LaunchMismatch);
  kernel.num_ctas = 2;
  EXPECT_THROW(LaunchShape(kernel, {int64_t{1} << 30, 1, 1}, SomeGpu()), LaunchMismatch);
  kernel.launch_cooperative_grid = true;
  DeviceInfo plain = SomeGpu();
  plain.cooperative_launch = false;
  EXPECT_THROW(LaunchShape(kernel, {1, 1, 1}, plain), LaunchMismatch);
}

}  // namespace
}  // namespace tritogen::cuda
