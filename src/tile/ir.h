// TTIR in memory, as the parser leaves it: functions of regions of blocks of operations, types resolved,
// names gone.
//
// Invariants of a Module that ParseTtir returned (VerifyModule checks them, its readers may trust them):
// - Every operand is defined before its use in an enclosing scope; across blocks its definition dominates the
// use.
// - Operand, result and region types fit the operation as the table below says.
// - Tensors: rank 1 to 8, at most 2^20 elements, a power of two. Pointers point at numbers, never at
// pointers.
// - Only a function's body has several blocks, and its branches go forward only. Every block ends in its one
// terminator.
// - Regions nest at most 200 deep. Calls do not recurse, and the kernel with every call expanded has at most
// 2^20 operations.
//
// Table: operands → results {attributes}. T: any type; S(x): x of a given shape; [x]: optional; r: rank; f/i:
// float/integer. "attribute?" may be absent, with its default in parentheses. Hint attributes
// (tt.divisibility, …) are not kept.
//   kCall            arguments → callee's results {"callee": string, a name in Module::functions}
//   kReturn          values of Function::results
//   kFor             lower, upper, step (one integer type i8…i64), inits → as inits. Region: (iv, carried) …
//   kYield carried kIf              i1 → any. Two regions without arguments, each … kYield results; the
//   second has no block when there is
//                    no else (then there are no results). kFor and kIf regions end in kYield even where none
//                    is printed
//   kWhile           inits → any. Region 0: (as inits) … kCondition i1, results; region 1: (as results) …
//   kYield as inits kBr / kCondBr    none / i1; successors kProgramId, kNumPrograms   → i32 {"axis": 0…2}
//   integer, float and math arithmetic   operands and result of one type, scalar or tensor, integer or float
//   as named kCmpI, kCmpF     a, b (one type; kCmpI also pointers) → i1 of its shape {"predicate": "slt",
//   "oeq", …} kSelect          i1 (scalar, or of the values' shape), a, b → as a kClampF          x, min, max
//   → as x {"propagateNan": "none" or "all"} kExtern          numbers of one shape → numbers of that shape
//   {"symbol": string}; operand count is not checked casts            x → S(x). kExtF, kExtSI, … widen or
//   narrow strictly; kBitcast: same width, pointers too;
//                    kIndexCast: i32/i64, `index` reads as i64
//   kFpToFp          {"rounding"?: "rtne" or "rtz" (always there when narrowing)}
//   kConstant        → integer or float T {"value": ConstantBits}
//   kPoison          → T: any value
//   kMakeRange       → tensor<n x i32> {"start", "end": int64, n = end - start}
//   kSplat           scalar → tensor;  kUnsplat  one-element tensor → scalar
//   kBroadcast       rank kept, size-1 dimensions grow
//   kExpandDims      {"axis": 0…r}
//   kReshape         {"allow_reorder"?: true}
//   kTrans           {"order": vector, a permutation; result dim i = source dim order[i]}
//   kJoin            a, b (one type) → shape…×2;  kSplit  shape…×2 → two results (scalar when the rank was 1)
//   kCat             a, b (rank 1) → na + nb elements
//   kGather          source, indices (integers, equal shape but for axis) → source elements in the indices'
//   shape {"axis"} kHistogram       rank-1 integers, [i1 mask] → rank-1 i32 or i64 bins kAddPtr pointers,
//   integers of S(pointers) → as pointers; offset in elements kLoad            pointers, [i1 mask, [other]] →
//   pointee of S(pointers) {"isVolatile"?: bool, "cacheModifier"?, "evictionPolicy"?: string} kStore
//   pointers, values, [i1 mask] {as kLoad} kAtomicRmw       pointers, values, [i1 mask] → as values {"kind":
//   and or xor add fadd max min umax umin exch, "sem": relaxed
//                    acquire release acq_rel, "scope": gpu cta sys}. fadd: floats; exch: both; the rest:
//                    integers
//   kAtomicCas       pointers, compare, values → as values {"sem", "scope"}
//   kMakeDescriptor  pointer, shape × r (i32 or i64), strides × r (i64) → kDesc {"padding"?: 1 zero
//   (default), 2 NaN} kDescLoad        kDesc, offsets × r (i32) → block; its shape may lack size-1 dimensions
//   of the descriptor's kDescStore       kDesc, offsets × r (i32), block (same freedom) kDescReduce      as
//   kDescStore {"kind": add min max and or xor}; min/max signedness from Type::desc_sign kDescGather kDesc of
//   1×n, rank-1 i32 rows, i32 column → rows×n;  kDescScatter  kDesc, rows, column, rows×n kReduce          n
//   tensors of one shape → n tensors without the axis (scalars when rank is 1) {"axis"}. Region: (n
//   accumulators,
//                    n elements: scalars) … kReduceReturn n
//   kScan            n tensors → same {"axis", "reverse": bool}. Region as kReduce … kScanReturn n
//   kMapElementwise  n tensors of one shape → m tensors {"pack": int64 ≥ 1, divides the element count}.
//   Region: (n × pack scalars,
//                    by operand) … kMapReturn m × pack, by result
//   kDot             a [b×]m×k, b [b×]k×n, c [b×]m×n → as c {"inputPrecision": ieee tf32 tf32x3 bf16x3
//   bf16x6, "maxNumImpreciseAcc": int64}
//                    both always there; c is integer exactly when a and b are
//   kDotScaled       a, b, c, [a scale], [b scale] → as c (m×n floats) {"lhs", "rhs": e4m3 e5m2 e2m1 bf16
//   fp16 (element kinds), "lhs_scale",
//                    "rhs_scale", "fastMath", "lhs_k_pack", "rhs_k_pack": bool, always there}. a scale is
//                    m×(k/32), b scale n×(k/32), i8; k counted in numbers (e2m1 packs two in an i8, along k
//                    unless *_k_pack is false)
//   kInlineAsm       any → any {"asm_string", "constraints": string, "pure": bool, "packed_element": int64}:
//   for the executor to refuse kPrint           any {"prefix": string, "hex": bool, "isSigned": vector, one
//   per operand} kAssert          i1 scalar or tensor {"message": string};  kAssume  i1
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
