// TTIR in memory, as the parser leaves it: functions of regions of blocks of operations, types resolved,
// names gone.
//
// clang-format off
// Invariants of a Module that ParseTtir returned (VerifyModule checks them, its readers may trust them):
// - Every operand is defined before its use in an enclosing scope; across blocks its definition dominates the use.
// - Operand, result, region and attribute types fit the operation as the table says.
// - Tensors have rank 1 to 20 and at most 2^20 elements, each dimension a power of two. Pointers point at numbers.
// - Only a function's body and the region of kMapElementwise have several blocks; they are sorted so that branches go
//   forward, and all are reached. Every block ends in its one terminator, the last one in that of the region.
// - Regions nest at most 200 deep. Calls do not recurse, nest at most 64 deep, and with every call expanded a
//   function has at most 2^20 operations. The kernel has no results and takes no tensors; a host descriptor of rank
//   r is followed by r × i32 (shape) and r × i64 (strides).
//
// Operands → results {attributes}. [x]: optional; "name"?: may be absent; shape and rank r are those of operand 0.
// Of hint attributes tt.divisibility, tt.contiguity and tt.constancy are kept: a number for each dimension.
//
//   kCall           arguments → results of the callee {"callee": string, a name in Module::functions}
//   kReturn         values of Function::results
//   kFor            lower, upper, step (one type of i8…i64), inits → as inits. Region: (variable, carried) … kYield
//   kIf             i1 → any. Two regions without arguments … kYield; the second has no blocks where there is no else,
//                   and then there are no results. kFor and kIf regions end in kYield even where none is printed
//   kWhile          inits → any. Region 0: (as inits) … kCondition(i1, results); 1: (as results) … kYield(as inits)
//   kBr, kCondBr    nothing / i1; successors, in the same region
//   kProgramId, kNumPrograms   → i32 {"axis": 0…2}
//
//   arithmetic      operands → all of one type, scalar or tensor, of integers or of floats of 16 bits and more
//   kClampF         x, min, max {"propagateNan": "none" "all"}
//   kCmpI, kCmpF    a, b (one type; kCmpI also pointers) → i1 {"predicate": "slt", "oeq", …}
//   kSelect         i1 (scalar or of the values' shape), a, b → as a
//   kExtern         numbers of one shape, how many is not checked → numbers of that shape {"symbol": string}
//   casts           x → same shape. kExtF, kTruncF, kExtSI, kExtUI, kTruncI change the width; kBitcast keeps it and
//                   takes pointers to pointers; kIndexCast: any integers (`index` reads as i64)
//   kFpToFp         x → floats {"rounding"?: "rtne" "rtz", always there when narrowing}
//
//   kConstant       → numbers {"value": ConstantBits}
//   kPoison         → any: any value will do
//   kMakeRange      → i32 of rank 1 {"start", "end": int64}
//   kSplat, kUnsplat   scalar → tensor; tensor of one element → scalar
//   kBroadcast      rank kept, dimensions of size 1 grow
//   kExpandDims     {"axis": 0…r, a dimension of size 1 goes there}
//   kReshape        row-major {"allow_reorder"?, "efficient_layout"?: true}
//   kTrans          {"order": vector; dimension i of the result is dimension order[i] of the source}
//   kJoin, kSplit   a, b → new last dimension 2; the inverse, with two results (scalars when r was 1)
//   kCat            a, b of rank 1 → one after the other
//   kGather         source, integer indices (same shape but for the axis) → shape of the indices {"axis"}
//   kHistogram      integers of rank 1, [i1 mask] → i32 or i64 bins of rank 1
//
//   kAddPtr         pointers, integers of any width → pointers; offsets count elements
//   kLoad           pointers, [i1 mask, [other]] → pointees
//                   {"isVolatile"?: bool, "cacheModifier"?, "evictionPolicy"?: string}
//   kStore          pointers, values, [i1 mask] {as kLoad}
//   kAtomicRmw      pointers, values, [i1 mask] → as values {"kind": "and" "or" "xor" "add" "fadd" "max" "min" "umax"
//                   "umin" "exch", "sem": "relaxed" "acquire" "release" "acq_rel", "scope": "gpu" "cta" "sys"}.
//                   Values are floats for fadd, any for exch, else integers
//   kAtomicCas      pointers, compare, values (any) → as values {"sem", "scope"}
//   kMakeDescriptor pointer, shape (r × i32 or i64), strides (r × i64) → kDesc {"padding"?: 1 zero (default), 2 NaN}
//   kDescLoad       kDesc, offsets (r × i32) → block, which may lack dimensions of size 1 {as kLoad}
//   kDescStore      kDesc, offsets, block (the same freedom) {as kLoad}
//   kDescReduce     kDesc, offsets, block {"kind": "add" "min" "max" "and" "or" "xor"}; sign in Type::desc_sign
//   kDescGather     kDesc of 1 × n, rows (i32 of rank 1), column (i32) → rows × n
//   kDescScatter    kDesc of 1 × n, rows, column, block of rows × n
//
//   kReduce         n tensors of one shape → n without the axis (scalars when r is 1) {"axis"}.
//                   Region: (n accumulated, n new: scalars) … kReduceReturn(n)
//   kScan           n tensors → the same {"axis", "reverse"?: bool}. Region as above … kScanReturn(n)
//   kMapElementwise n tensors → m tensors, all of one shape {"pack": 1…64, divides the number of elements}.
//                   Region: (n × pack scalars, by operand) … kMapReturn(m × pack, by result)
//                   These three regions, at any depth, hold scalars only: no memory, prints, nor each other, and
//                   calls of functions for which the same is true
//   kDot            a [b×]m×k, b [b×]k×n, c [b×]m×n → as c {"inputPrecision": "ieee" "tf32" "tf32x3" "bf16x3" "bf16x6",
//                   "maxNumImpreciseAcc": int64, both always there}. Integers give i32; a and b are of one type, or
//                   both fp8; c is of 16 bits and more
//   kDotScaled      a, b, c (m×n), [scale of a], [scale of b] → as c {"lhs", "rhs": "e4m3" "e5m2" "e2m1" "bf16" "fp16",
//                   "lhs_scale", "rhs_scale", "fastMath", "lhs_k_pack", "rhs_k_pack": bool, all always there}.
//                   e2m1: i8 that hold two numbers each, along k unless *_k_pack is false. Scales m × k/32 and
//                   n × k/32 of i8, or k/16 of f8E4M3FN; k counts numbers
//
//   kInlineAsm      any → any {"asm_string": string, …}: nothing is checked, the executor refuses it
//   kPrint          any {"prefix": string, "hex"?: bool, "isSigned": vector, one per operand}
//   kAssert         i1, any shape {"message": string}
//   kAssume         i1
// clang-format on
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tritogen::tile {

enum class Elem : uint8_t {
  kI1,
  kI8,
  kI16,
  kI32,
  kI64,
  kF8E4M3,
  kF8E5M2,
  kF16,
  kBF16,
  kF32,
  kF64,
  kPtr,
  kDesc,
  kNone
};

int ElemBytes(Elem elem);  // storage in a tile: i1 and fp8 take 1, pointers 8, kDesc and kNone 0
int ElemBits(Elem elem);   // i1: 1, else 8 × ElemBytes
bool IsFloat(Elem elem);
bool IsInteger(Elem elem);  // i1 included

inline constexpr size_t kMaxDescriptorRank = 8;

struct Type {
  Elem elem = Elem::kNone;
  Elem pointee = Elem::kNone;    // kPtr and kDesc: what is pointed at
  char desc_sign = 0;            // kDesc of integers: 's', 'u', or 0 where the text gives none (then as 's')
  std::vector<int64_t> shape{};  // empty: scalar. For kDesc: the block shape
  bool is_tensor() const { return elem != Elem::kDesc && !shape.empty(); }
  int64_t numel() const;
  bool operator==(const Type&) const = default;
};

// As TTIR spells it, for messages: "tensor<16x!tt.ptr<f32>>".
std::string TypeName(const Type& type);

// One name per operation the machine knows; X(enumerator, "text").
enum class OpCode : uint16_t {
#define X(code, text) code,
#include "tile/ops.def"
#undef X
};
std::string_view OpName(OpCode code);

using ValueId = int32_t;  // index into Function::values

// Constants keep bit patterns of the element's width, zero-extended; one per element (row-major) or a single
// one for a splat.
struct ConstantBits {
  bool splat = true;
  std::vector<uint64_t> bits;
  bool operator==(const ConstantBits&) const = default;
};
// Enumerations (predicate, rounding, cache modifier, …) stay the words of the text.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, ConstantBits>;

struct Block;
struct Region {
  std::vector<Block> blocks;
};

struct Successor {
  int block = -1;  // index in the enclosing region
  std::vector<ValueId> arguments;
};

struct Operation {
  OpCode code = OpCode::kReturn;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Region> regions;        // scf.*, tt.reduce, tt.scan, tt.map_elementwise
  std::vector<Successor> successors;  // cf.*
  std::map<std::string, Attribute, std::less<>> attributes;
  int line = 0;       // Python line when the text has locations, else the line in the TTIR text
  int ttir_line = 0;  // line in the TTIR text, for TtirError

  // The attribute as type T, or `fallback` where it is absent or of another type.
  template <typename T>
  T Attr(std::string_view name, T fallback = T{}) const {
    auto it = attributes.find(name);
    if (it == attributes.end()) return fallback;
    const T* value = std::get_if<T>(&it->second);
    return value ? *value : fallback;
  }
};

struct Block {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
};

struct Function {
  std::string name;
  bool is_public = false;
  std::vector<ValueId> parameters;  // also the arguments of body.blocks[0]
  std::vector<int64_t> divisors;    // of the parameters, as the text says
  std::vector<Type> results;
  std::vector<Type> values;  // type of every ValueId
  Region body;
  int line = 0;  // as Operation::line
  int ttir_line = 0;
};

struct Module {
  std::vector<Function> functions;  // exactly one is public: the kernel
  const Function& kernel() const;
};

// Throws TtirError (tile.h) with the line; never crashes, never allocates more than a small multiple of the
// text's size.
Module ParseTtir(std::string_view text);

}  // namespace tritogen::tile
