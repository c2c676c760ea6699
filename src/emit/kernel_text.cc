#include "emit/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/python_tokens.h"
#include "base/text.h"
#include "emit/python_text.h"

namespace tritogen {
namespace {

using Kind = PythonToken::Kind;
using Names = std::set<std::string_view>;

// Of triton.language, what leads to other modules.
const Names kSubmodules = {"core", "extra", "math", "random", "semantic", "standard", "target_info"};

const Names kTritonFunctions = {"triton.jit", "triton.cdiv", "triton.next_power_of_2"};

const Names kModules = {"__future__",
                        "math",
                        "torch",
                        "triton",
                        "triton.language",
                        "triton.language.extra",
                        "triton.language.extra.cuda",
                        "triton.language.extra.cuda.libdevice",
                        "triton.language.extra.libdevice",
                        "triton.language.math",
                        "typing"};

// Python's own functions that reach beyond numbers, or give another answer elsewhere.
const Names kBuiltins = {"breakpoint", "compile", "delattr", "dir",        "eval",   "exec",
                         "exit",       "getattr", "globals", "hasattr",    "hash",   "help",
                         "id",         "input",   "locals",  "memoryview", "object", "open",
                         "quit",       "repr",    "setattr", "super",      "type",   "vars"};

// Not get_type_hints, which runs what stands in strings.
const Names kTypes = {"Any",        "Callable", "Dict",     "List",  "Literal",
                      "NamedTuple", "Optional", "Sequence", "Tuple", "Union"};

// Of tensors, types, descriptors and constants of Triton's language.
const Names kAttributes = {"ALL",
                           "NONE",
                           "T",
                           "abs",
                           "advance",
                           "argmax",
                           "argmin",
                           "associative_scan",
                           "atomic_add",
                           "atomic_and",
                           "atomic_cas",
                           "atomic_max",
                           "atomic_min",
                           "atomic_or",
                           "atomic_xchg",
                           "atomic_xor",
                           "block_shape",
                           "broadcast_to",
                           "cast",
                           "cdiv",
                           "ceil",
                           "cos",
                           "cumprod",
                           "cumsum",
                           "dtype",
                           "element_ty",
                           "erf",
                           "exp",
                           "exp2",
                           "expand_dims",
                           "flip",
                           "floor",
                           "gather",
                           "histogram",
                           "is_bf16",
                           "is_block",
                           "is_bool",
                           "is_floating",
                           "is_fp16",
                           "is_fp32",
                           "is_fp64",
                           "is_fp8",
                           "is_fp8e4nv",
                           "is_fp8e5",
                           "is_int",
                           "is_int1",
                           "is_int16",
                           "is_int32",
                           "is_int64",
                           "is_int8",
                           "is_int_signed",
                           "is_int_unsigned",
                           "is_ptr",
                           "item",
                           "itemsize",
                           "load",
                           "log",
                           "log2",
                           "logical_and",
                           "logical_or",
                           "max",
                           "min",
                           "nbytes",
                           "numel",
                           "permute",
                           "primitive_bitwidth",
                           "ravel",
                           "reduce",
                           "reduce_or",
                           "reshape",
                           "rsqrt",
                           "scalar",
                           "scatter",
                           "shape",
                           "sigmoid",
                           "sin",
                           "softmax",
                           "sort",
                           "split",
                           "sqrt",
                           "sqrt_rn",
                           "store",
                           "strides",
                           "sum",
                           "to",
                           "trans",
                           "type",
                           "value",
                           "view",
                           "xor_sum"};

bool IsDunder(std::string_view name) {
  return name.starts_with("__");
}

// A function, constant or type of an importable module.
bool IsAllowedPath(std::string_view path) {
  if (kTritonFunctions.contains(path)) return true;
  const size_t dot = path.rfind('.');
  if (dot == path.npos) return false;
  const std::string_view module = path.substr(0, dot), name = path.substr(dot + 1);
  if (!IsIdentifier(name) || name.starts_with("_") || kSubmodules.contains(name)) return false;
  if (module == "math") return true;
  if (module == "typing") return kTypes.contains(name);
  if (module == "torch")
    return DtypeFromName(std::string(name)).has_value() || name == "Tensor" || name == "dtype";
  if (module == "triton.language" || module.ends_with(".libdevice")) return kModules.contains(module);
  if (module == "triton.language.math") return name != "wraps";
  // The methods of a type, like tl.float32.is_floating().
  const size_t before = module.rfind('.');
  return before != module.npos && module.substr(0, before) == "triton.language" &&
         kAttributes.contains(name) && !kSubmodules.contains(module.substr(before + 1));
}

// Walks over a text's tokens, without blanks and comments.
class Scanner {
 public:
  explicit Scanner(std::string_view text) {
    int depth = 0;
    for (const PythonToken& token : PythonTokens(text)) {
      const char c = token.text[0];
      if (token.kind == Kind::kComment) continue;
      if (token.kind == Kind::kOther) {
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        const bool joins = c == '\\' || (c == '\n' && depth > 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || joins) continue;
      }
      tokens_.push_back(token);
    }
  }

  std::string Refusal() {
    while (at_ < tokens_.size() && refusal_.empty()) Step();
    return refusal_;
  }

 private:
  std::string_view text(size_t i) const {
    return i < tokens_.size() ? tokens_[i].text : std::string_view("\n");
  }
  bool IsName(size_t i) const { return i < tokens_.size() && tokens_[i].kind == Kind::kName; }
  void Refuse(std::string_view what) { refusal_ = what; }

  void Step() {
    const PythonToken& token = tokens_[at_];
    const std::string_view before = at_ == 0 ? "\n" : text(at_ - 1);
    const bool starts = before == "\n" || before == ":" || before == ";";
    if (token.kind == Kind::kString) return TakeString();
    if (token.kind == Kind::kOther && token.text == "@" && starts) return TakeDecorator();
    if (token.kind != Kind::kName) return void(++at_);
    if (!std::all_of(token.text.begin(), token.text.end(), [](char c) { return (c & 0x80) == 0; }))
      return Refuse(fmt::format("the name {} is not of ASCII letters", token.text));
    if (token.text == "import") return TakeImport();
    if (token.text == "from") return TakeFromImport();
    if (before == ".") return TakeAttribute();
    TakeName();
  }

  void TakeString() {
    const std::string_view literal = tokens_[at_++].text;
    const std::string_view prefix = literal.substr(0, literal.find_first_of("'\""));
    const bool formatted = prefix.find_first_of("fF") != prefix.npos;
    if (formatted && literal.find('{') != literal.npos) Refuse("a formatted string holds code");
  }

  void TakeDecorator() {
    ++at_;
    if (!IsName(at_) || TakePath() != "triton.jit") Refuse("a decorator is not triton.jit");
  }

  void TakeAttribute() {
    const std::string_view name = tokens_[at_++].text;
    if (!kAttributes.contains(name)) Refuse(fmt::format(".{} is nothing of Triton's language", name));
  }

  void TakeName() {
    const std::string_view name = text(at_);
    const bool keyword_argument = text(at_ + 1) == "=" && text(at_ + 2) != "=";
    if (IsDunder(name) || (kBuiltins.contains(name) && !keyword_argument))
      return Refuse(fmt::format("{} is not for kernels", name));
    if (keyword_argument || !modules_.contains(name)) return void(++at_);
    const std::string path = TakePath();
    if (!IsAllowedPath(path)) Refuse(fmt::format("{} is nothing of Triton's language", path));
  }

  // "tl.math.exp" → "triton.language.math.exp".
  std::string TakePath() {
    const auto found = modules_.find(text(at_));
    std::string path = found == modules_.end() ? std::string(text(at_)) : found->second;
    for (++at_; text(at_) == "." && IsName(at_ + 1); at_ += 2) {
      // What follows a function or constant is an attribute of a value.
      if (IsAllowedPath(path) && !IsAllowedPath(path + "." + std::string(text(at_ + 1)))) break;
      path += "." + std::string(text(at_ + 1));
    }
    return path;
  }

  std::string TakeDotted() {
    std::string path(text(at_++));
    while (text(at_) == "." && IsName(at_ + 1)) {
      path += "." + std::string(text(at_ + 1));
      at_ += 2;
    }
    return path;
  }

  // `name`, or what `as` says.
  std::string_view TakeAlias(std::string_view name) {
    if (text(at_) != "as") return name;
    at_ += 2;
    return text(at_ - 1);
  }

  void TakeImport() {
    do {
      ++at_;
      const std::string path = TakeDotted();
      if (!kModules.contains(path)) return Refuse(fmt::format("it imports {}", path));
      const bool renamed = text(at_) == "as";
      const std::string_view root = TakeAlias(path);
      modules_[std::string(renamed ? root : root.substr(0, root.find('.')))] =
          renamed ? path : path.substr(0, path.find('.'));
    } while (text(at_) == ",");
  }

  void TakeFromImport() {
    ++at_;
    const std::string module = IsName(at_) ? TakeDotted() : "a relative module";
    if (!kModules.contains(module) || text(at_) != "import")
      return Refuse(fmt::format("it imports {}", module));
    do {
      ++at_;
      if (text(at_) == "(") ++at_;
      if (text(at_) == ")") break;
      const std::string path = module + "." + std::string(text(at_));
      if (module != "__future__" && !kModules.contains(path) && !IsAllowedPath(path))
        return Refuse(fmt::format("it imports {}", path));
      ++at_;
      const std::string_view alias = TakeAlias(path.substr(module.size() + 1));
      modules_[std::string(alias)] = path;
    } while (text(at_) == ",");
  }

  std::vector<PythonToken> tokens_;
  // By the name that they have here; these three the printed module imports itself.
  std::map<std::string, std::string, std::less<>> modules_ = {
      {"torch", "torch"}, {"triton", "triton"}, {"tl", "triton.language"}};
  size_t at_ = 0;
  std::string refusal_;
};

std::optional<std::string> NoIdentifier(const Value& value) {
  const std::string* name = nullptr;
  if (const auto* function = std::get_if<FunctionValue>(&value.v)) name = &function->name;
  if (const auto* layout = std::get_if<LayoutValue>(&value.v)) name = &layout->name;
  if (const auto* format = std::get_if<MemoryFormatValue>(&value.v)) name = &format->name;
  if (name != nullptr && !IsIdentifier(*name)) return *name;
  if (const auto* list = std::get_if<Value::List>(&value.v)) {
    for (const Value& item : *list) {
      if (auto found = NoIdentifier(item)) return found;
    }
  }
  return std::nullopt;
}

// What is printed as it is, beside texts.
std::optional<std::string> NoIdentifier(const Plan& plan) {
  for (const Kernel& kernel : plan.kernels) {
    if (!IsIdentifier(kernel.name)) return kernel.name;
  }
  for (const auto* steps : {&plan.setup, &plan.run}) {
    for (const Step& step : *steps) {
      const auto* launch = std::get_if<LaunchStep>(&step);
      if (launch == nullptr) continue;
      for (const LaunchVariant& variant : launch->variants) {
        for (const auto& [name, value] : variant.call) {
          if (!IsIdentifier(name)) return name;
          if (auto found = NoIdentifier(value)) return found;
        }
      }
    }
  }
  return std::nullopt;
}

// What a top-level statement defines; nothing for imports and whatever else there is.
std::string_view BoundName(std::string_view statement) {
  while (statement.starts_with("@"))
    statement.remove_prefix(std::min(statement.find('\n'), statement.size() - 1) + 1);
  for (std::string_view keyword : {"async def ", "def ", "class "}) {
    if (statement.starts_with(keyword)) statement.remove_prefix(keyword.size());
  }
  const std::string_view name = statement.substr(0, statement.find_first_of(" :=(\n"));
  const size_t next = statement.find_first_not_of(' ', name.size());
  const bool binds =
      next != statement.npos && std::string_view("(:=").find(statement[next]) != std::string_view::npos;
  return binds && IsIdentifier(name) ? name : std::string_view();
}

}  // namespace

std::string ClashOf(std::string_view original, std::string_view kernels) {
  std::map<std::string, std::string> defined;
  for (const std::string& statement : TopLevelStatements(original)) {
    if (const std::string_view name = BoundName(statement); !name.empty())
      defined[std::string(name)] = statement;
  }
  for (const std::string& statement : TopLevelStatements(kernels)) {
    const auto found = defined.find(std::string(BoundName(statement)));
    if (found != defined.end() && found->second != statement) return found->first;
  }
  return "";
}

std::string RefusalOfText(std::string_view text) {
  return Scanner(text).Refusal();
}

std::string RefusalOfKernels(const Plan& plan) {
  if (const auto name = NoIdentifier(plan)) return fmt::format("'{}' is no name", *name);
  for (const Kernel& kernel : plan.kernels) {
    const std::string why = RefusalOfText(kernel.support + "\n" + WithoutChoosers(kernel.source));
    if (!why.empty()) return fmt::format("the text of kernel {}: {}", kernel.name, why);
  }
  return "";
}

}  // namespace tritogen
