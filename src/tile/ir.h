// TTIR in memory, as the parser leaves it: functions of regions of blocks of operations, types resolved, names gone.
// Invariants of a Module that ParseTtir returned: every operand is defined before use in an enclosing scope, operand and
// result types fit the operation (VerifyModule), tensor shapes are powers of two with at most 2^20 elements.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tritogen::tile {

enum class Elem : uint8_t { kI1, kI8, kI16, kI32, kI64, kF8E4M3, kF8E5M2, kF16, kBF16, kF32, kF64, kPtr, kDesc, kNone };

int ElemBytes(Elem elem);  // storage in a tile: i1 and fp8 take 1, pointers 8
bool IsFloat(Elem elem);
bool IsInteger(Elem elem);  // i1 included

struct Type {
  Elem elem = Elem::kNone;
  Elem pointee = Elem::kNone;  // kPtr and kDesc: what is pointed at
  char desc_sign = 0;          // kDesc of integers: 's' or 'u'
  std::vector<int64_t> shape;  // empty: scalar. For kDesc: the block shape
  bool is_tensor() const { return elem != Elem::kDesc && !shape.empty(); }
  int64_t numel() const;
  bool operator==(const Type&) const = default;
};

// One name per operation the machine knows; X(enumerator, "text").
enum class OpCode : uint16_t {
#define X(code, text) code,
#include "tile/ops.def"
#undef X
};
std::string_view OpName(OpCode code);

using ValueId = int32_t;  // index into Function::values

// Constants keep bit patterns, one per element or a single one for a splat.
struct ConstantBits {
  bool splat = true;
  std::vector<uint64_t> bits;
  bool operator==(const ConstantBits&) const = default;
};
// Enumerations (predicate, rounding, cache modifier, …) stay the words of the text.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, ConstantBits>;

struct Block;
struct Region { std::vector<Block> blocks; };

struct Successor {
  int block = -1;  // index in the enclosing region
  std::vector<ValueId> arguments;
};

struct Operation {
  OpCode code;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Region> regions;        // scf.*, tt.reduce, tt.scan, tt.map_elementwise
  std::vector<Successor> successors;  // cf.*
  std::map<std::string, Attribute, std::less<>> attributes;
  int line = 0;  // Python line when the text has locations, else the line in the TTIR text
};

struct Block {
  std::vector<ValueId> arguments;
  std::vector<Operation> operations;
};

struct Function {
  std::string name;
  bool is_public = false;
  std::vector<ValueId> parameters;
  std::vector<Type> results;
  std::vector<Type> values;  // type of every ValueId
  Region body;
};

struct Module {
  std::vector<Function> functions;  // exactly one is public: the kernel
  const Function& kernel() const;
};

// Throws TtirError (tile.h) with the line; never crashes, never allocates more than a small multiple of the text's size.
Module ParseTtir(std::string_view text);

// Text without locations and `#loc` lines: what two equal kernels from different files share. Never throws.
std::string StripLocations(std::string_view text);

}  // namespace tritogen::tile
