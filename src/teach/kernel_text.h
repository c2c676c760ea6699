// Pieces of text that all kernels share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "teach/tile_code.h"

namespace tritogen::teach {

// The decorated function: pointers, then the counter of launches where there is one, then constants, then the
// body.
std::string KernelText(const std::string& name, TileCode& code, const std::vector<std::string>& constants,
                       const std::string& body, const std::string& counter = "");

// A function with these parameters.
std::string FunctionText(const std::string& name, const std::vector<std::string>& params,
                         const std::string& body);

// One block of a flat group's elements, that of this number among blocks of BLOCK neighbours; `masked` where
// the last one is not full of the N elements.
void AddFlatBlock(const Group& group, const std::string& number, bool masked, TileCode& code, Lines& body);

// a·b, but 0 where one of them is 0 and the other has overflowed to infinity: partial products are not taken
// in the elements' order, in which nothing may have overflowed. NaN stays NaN.
std::string ProductKeepingZero(std::string_view a, std::string_view b);

// log(exp(a) + exp(b)), which overflows where that does, and is a where b is -inf.
std::string SumOfExponentials(std::string_view a, std::string_view b);

// Those that kernels of this text combine elements with: "multiply(a, b)", "floored_remainder(a, b)" and so
// on, decorated.
std::string CombineFunctions(const std::string& kernels);

// What a reduction starts from; elements outside the row count as this.
std::string Neutral(ReduceOp op, Dtype dtype);

// Whether it is NaN where an element is and Triton's own maximum and minimum would not be.
bool KeepsNan(ReduceOp op, Dtype dtype);

// Both REQUIRE a reduction that looks for no place; `dtype` is the elements'. The reduction of a tile along
// an axis, and the statement that a loop takes one more element in by.
std::string ReducedText(ReduceOp op, Dtype dtype, std::string_view tile, int axis, bool keep_dims);
std::string TakesIn(ReduceOp op, Dtype dtype, std::string_view total, std::string_view element);

// The lines that take a float32 tile `x` apart into three of bfloat16 that add up to it: x_high, x_middle,
// x_low (and x_rest). As Builder::Parts does for factors whose parts are stored. `finite`: no element is
// infinite.
void TakeApart(const std::string& x, Lines* lines, bool finite = false);
// The lines that add the product of two tiles of such parts to `sum`, but for what is not of the largest
// parts alone, which is added to `rest`. The same one may be meant.
void AddDotsOfParts(const std::string& a, const std::string& b, const std::string& rest,
                    const std::string& sum, Lines* lines);
inline constexpr const char* kPartNames[kParts] = {"high", "middle", "low"};

// "softmax, mul and add": the operators of the program that a group computes.
std::string OperatorList(const Graph& graph, const Group& group);
// The same, once each, in order.
std::vector<std::string> Operators(const Graph& graph, const Group& group);
// What a plan calls float32 dots of this precision: "ieee dots", "TF32 dots".
std::string DotsText(const std::string& precision);

}  // namespace tritogen::teach
