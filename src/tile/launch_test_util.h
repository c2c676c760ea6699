// For tests: a kernel with typed buffers, and TTIR put together from its interesting part.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "tile/tile.h"

namespace tritogen::tile {

class TestLaunch {
 public:
  explicit TestLaunch(std::string_view ttir) : kernel_(Load(ttir)) {}

  // The next argument: a pointer to a buffer with these values. `data` must stay; results are written back to
  // it.
  template <class T>
  TestLaunch& Pointer(std::vector<T>& data, std::string name, bool defined = true, int64_t byte_offset = 0) {
    defined_.emplace_back(data.size() * sizeof(T), defined ? 1 : 0);
    buffers_.push_back({reinterpret_cast<std::byte*>(data.data()), data.size() * sizeof(T),
                        defined_.back().data(), std::move(name)});
    arguments_.push_back(PointerArgument{static_cast<int>(buffers_.size()) - 1, byte_offset});
    return *this;
  }
  TestLaunch& Int(int64_t value) { return arguments_.push_back(value), *this; }
  TestLaunch& Float(double value) { return arguments_.push_back(value), *this; }
  template <class T>
  TestLaunch& Descriptor(std::vector<T>& data, std::vector<int64_t> shape, bool pad_nan = false) {
    Pointer(data, "described");
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    arguments_.back() = DescriptorArgument{static_cast<int>(buffers_.size()) - 1, 0, shape, strides, pad_nan};
    return *this;
  }

  LaunchReport Run(int64_t programs = 1, uint64_t seed = 0, int threads = 1, double deadline = 20) {
    return Run({programs, 1, 1}, seed, threads, deadline);
  }
  LaunchReport Run(std::array<int64_t, 3> grid, uint64_t seed = 0, int threads = 1, double deadline = 20) {
    options.grid = grid;
    options.order_seed = seed;
    options.threads = threads;
    options.deadline_seconds = deadline;
    return Launch(*kernel_, arguments_, buffers_, options);
  }
  LaunchOptions options;  // what Run does not say

  const std::vector<uint8_t>& defined(int buffer) const { return defined_[buffer]; }
  const Executable& kernel() const { return *kernel_; }

 private:
  std::shared_ptr<const Executable> kernel_;
  std::deque<std::vector<uint8_t>> defined_;
  std::vector<Buffer> buffers_;
  std::vector<Argument> arguments_;
};

// "" when there was no fault, else the first message.
inline std::string FirstFault(const LaunchReport& report) {
  return report.faults.empty() ? "" : report.faults[0].message;
}

// module { tt.func @kernel(parameters) { body; tt.return } }
inline std::string Kernel(std::string_view parameters, std::string_view body) {
  return "module {\n  tt.func public @kernel(" + std::string(parameters) +
         ") attributes {noinline = false} {\n" + std::string(body) + "\n    tt.return\n  }\n}\n";
}

// %r: 0…lanes-1 plus the program's first element; %px, %py: pointers to those elements of %x and %y.
inline std::string RangeBody(std::string_view elem) {
  std::string text = R"(
    %width = arith.constant 16 : i32
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %width : i32
    %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %start = tt.splat %first : i32 -> tensor<16xi32>
    %r = arith.addi %start, %lane : tensor<16xi32>
    %sx = tt.splat %x : !tt.ptr<T> -> tensor<16x!tt.ptr<T>>
    %px = tt.addptr %sx, %r : tensor<16x!tt.ptr<T>>, tensor<16xi32>
    %sy = tt.splat %y : !tt.ptr<T> -> tensor<16x!tt.ptr<T>>
    %py = tt.addptr %sy, %r : tensor<16x!tt.ptr<T>>, tensor<16xi32>
)";
  for (size_t at; (at = text.find("<T>")) != std::string::npos;)
    text.replace(at, 3, "<" + std::string(elem) + ">");
  return text;
}

}  // namespace tritogen::tile
