// Signatures: ATen schemas as text, parsed, and the arguments of a call bound to them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/literal.h"
#include "program/program.h"

namespace tritogen {

struct Param {
  enum class Type {
    kTensor,   // also a number where PyTorch wraps it: add(x, 2.0)
    kTensors,  // Tensor[], Tensor?[]
    kInt,
    kInts,  // int[], int[N]
    kFloat,
    kScalar,
    kBool,
    kString,
    kDtype,
    kPlacement,  // device, layout, memory format, pinning: no part of a Program
  };
  std::string name;
  Type type = Type::kTensor;
  bool nullable = false;  // Tensor?, int?, …
  int count = 0;          // of int[N]: one integer stands for N equal ones; 0: any number
  bool keyword_only = false;
  std::optional<Arg> otherwise;  // default

  bool IsTensor() const { return type == Type::kTensor || type == Type::kTensors; }
  bool IsInteger() const { return type == Type::kInt || type == Type::kInts; }
  // Whether a literal or reference may stand here.
  bool Accepts(const Arg& arg) const;
  bool IsDefault(const Arg& arg) const;
};

struct Signature {
  std::string schema;  // as ATen prints it, without namespace, alias marks and SymInt
  std::string name;    // "add.Tensor"
  std::vector<Param> params;
  int results = 1;  // −1: a list

  const Param* Find(std::string_view param) const;
  int IndexOf(std::string_view param) const;  // −1: none
};

// "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". REQUIRES: a schema of the catalogue.
Signature ParseSignature(std::string_view schema);

// Arguments by parameter name; defaults filled in.
class BoundArgs {
 public:
  BoundArgs() = default;
  // Nothing when the node has more arguments than parameters, lacks one without default, has an unknown
  // keyword or an argument of another kind.
  static std::optional<BoundArgs> Bind(const Signature& signature, const Node& node);

  // The argument of this name; a none for a name that the signature does not have.
  const Arg& operator[](std::string_view name) const;
  Arg* Find(std::string_view name);
  void Add(std::string name, Arg value) { args_.emplace_back(std::move(name), std::move(value)); }
  // Conditions of an OpCase: "min=None, alpha=1".
  bool Holds(std::string_view when) const;
  const std::vector<std::pair<std::string, Arg>>& all() const { return args_; }

 private:
  std::vector<std::pair<std::string, Arg>> args_;
};

// The shortest form of the arguments: positional ones by position as far as needed, keyword-only ones by
// keyword in the signature's order, none that equals its default, one integer of an int[N] as N, integers of
// a float parameter as floats. REQUIRES: bound by this signature.
void SetArgs(const Signature& signature, const BoundArgs& args, Node* node);

// Cut at separators outside brackets and quotes, blanks trimmed, an empty last part left out.
std::vector<std::string_view> SplitOutside(std::string_view text, char separator);

}  // namespace tritogen
