#include "propose/inductor_clean.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/python_tokens.h"
#include "base/text.h"
#include "program/names.h"
#include "program/print.h"
#include "propose/inductor_kernel.h"

namespace tritogen {
namespace {

using inductor::Kernel;
using inductor::Lines;
using inductor::NoPlainForm;

// Between two marks, after `from`; moves `from` past the second.
std::optional<std::string_view> Between(std::string_view text, std::string_view first,
                                        std::string_view second, size_t* from) {
  const size_t start = text.find(first, *from);
  if (start == std::string_view::npos) return std::nullopt;
  const size_t begin = start + first.size(), end = text.find(second, begin);
  if (end == std::string_view::npos) return std::nullopt;
  *from = end + second.size();
  return text.substr(begin, end - begin);
}

// "f(a, (b, c)), d" → {"f(a, (b, c))", "d"}
std::vector<std::string> Arguments(std::string_view text) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  for (const PythonToken& token : PythonTokens(text)) {
    if (token.text == "(" || token.text == "[") ++depth;
    if (token.text == ")" || token.text == "]") --depth;
    if (token.text == "," && depth == 0) {
      arguments.emplace_back();
    } else {
      arguments.back() += token.text;
    }
  }
  for (std::string& argument : arguments) argument = std::string(Trimmed(argument));
  if (arguments.back().empty()) arguments.pop_back();
  return arguments;
}

int64_t Number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw NoPlainForm(fmt::format("a size that is no number: {}", text));
  return value;
}

int64_t PowerOfTwoFrom(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

// Turns the body of Inductor's call() into statements.
class CallCleaner {
 public:
  CallCleaner(std::map<std::string, Kernel>* kernels, const CleanRequest& request)
      : kernels_(kernels), request_(request) {
    for (const std::string& name : request.parameters) names_.Unique(name);
  }

  void Line(std::string line) {
    line = line.substr(0, line.find("  # reuse"));
    line = line.substr(0, line.find("; del "));
    constexpr std::string_view kNothing[] = {"#",     "del ",        "args.clear()", "assert_size_stride(",
                                             "with ", "torch.cuda.", "stream",       "assert_alignment("};
    for (std::string_view start : kNothing) {
      if (line.starts_with(start)) return;
    }
    if (line.ends_with("= args")) return Unpack(line);
    if (line.starts_with("return (")) return Return(line);
    const size_t run = line.find(".run(");
    if (run != std::string::npos)
      return Launch(line.substr(0, run), line.substr(run + 5, line.rfind(')') - run - 5));
    const size_t assign = line.find(" = ");
    const std::string target = assign == std::string::npos ? "" : line.substr(0, assign);
    const std::string value = assign == std::string::npos ? line : line.substr(assign + 3);
    if (value.starts_with("empty_strided_cuda(")) return Empty(target, value);
    if (value.starts_with("extern_kernels.")) return Library(target, value);
    const bool alias =
        !target.empty() && (value.starts_with("buf") || value.starts_with("reinterpret_tensor("));
    if (!alias) throw NoPlainForm("a statement that has no plain form: " + line.substr(0, 60));
    statements_.push_back(fmt::format("{} = {}", target, Value(value)));
  }

  // The function, in text; statements that make what a later one makes anew are gone.
  std::string Function() const {
    if (returned_.empty()) throw NoPlainForm("no return");
    std::string text = fmt::format("def {}({}):\n", request_.function, fmt::join(request_.parameters, ", "));
    for (const std::string& statement : statements_) text += "    " + statement + "\n";
    return text + "    return " + returned_ + "\n";
  }

  int library_calls() const { return library_calls_; }
  const std::vector<std::string>& plan() const { return plan_; }

 private:
  void Unpack(const std::string& line) {
    const std::vector<std::string> names = Arguments(line.substr(0, line.rfind(" = ")));
    if (names.size() != request_.parameters.size()) throw NoPlainForm("another number of inputs");
    for (size_t i = 0; i < names.size(); ++i) inputs_[names[i]] = request_.parameters[i];
  }

  // Names of inputs and of views, as a person writes them.
  std::string Value(std::string_view text) const {
    std::string result;
    for (const PythonToken& token : PythonTokens(text)) {
      const auto input = inputs_.find(std::string(token.text));
      result += input == inputs_.end() ? std::string(token.text) : input->second;
    }
    return ReplaceAll(result, "reinterpret_tensor(", "torch.as_strided(");
  }

  std::string Device() const {
    return request_.parameters.empty() ? "\"cuda\"" : request_.parameters[0] + ".device";
  }

  void Empty(const std::string& target, const std::string& value) {
    const size_t open = value.find('(');
    const auto arguments = Arguments(std::string_view(value).substr(open + 1, value.rfind(')') - open - 1));
    if (arguments.size() != 3) throw NoPlainForm("an allocation of another form");
    allocated_[target] = statements_.size();
    statements_.push_back(fmt::format("{} = torch.empty_strided({}, {}, device={}, dtype={})", target,
                                      arguments[0], arguments[1], Device(), arguments[2]));
  }

  void Library(std::string target, const std::string& value) {
    const size_t open = value.find('(');
    const std::string name = value.substr(15, open - 15);
    static const std::set<std::string> kKnown = {"mm", "bmm", "addmm", "baddbmm", "convolution"};
    if (!kKnown.count(name)) throw NoPlainForm("a library call: " + name);
    std::vector<std::string> arguments =
        Arguments(std::string_view(value).substr(open + 1, value.rfind(')') - open - 1));
    if (!arguments.empty() && arguments.back().starts_with("out=")) {
      target = arguments.back().substr(4);
      arguments.pop_back();
      const auto allocation = allocated_.find(target);
      if (allocation == allocated_.end()) throw NoPlainForm("a library call into a part of a tensor");
      statements_.erase(statements_.begin() + static_cast<int64_t>(allocation->second));
      for (auto& [other, place] : allocated_) place -= place > allocation->second;
    }
    if (target.empty()) throw NoPlainForm("a library call without a result");
    for (std::string& argument : arguments) argument = Value(argument);
    statements_.push_back(fmt::format("{} = torch.{}({})", target, name, fmt::join(arguments, ", ")));
    plan_.push_back(fmt::format("{} is left to PyTorch.", name));
    ++library_calls_;
  }

  void Launch(const std::string& name, std::string_view text) {
    const auto found = kernels_->find(name);
    if (found == kernels_->end()) throw NoPlainForm("a kernel that is not there: " + name);
    Kernel& kernel = found->second;
    std::vector<std::string> arguments = Arguments(text);
    std::erase_if(arguments, [](const std::string& argument) { return argument.starts_with("stream="); });
    std::vector<std::string> passed;
    std::map<std::string, int64_t> sizes;
    size_t next = 0;
    for (const std::string& parameter : kernel.parameters) {
      if (kernel.blocks.count(parameter)) continue;
      if (next == arguments.size()) throw NoPlainForm("a launch with too few arguments");
      const std::string argument = Value(arguments[next++]);
      if (parameter.ends_with("numel")) {
        sizes[parameter] = Number(argument);
      } else {
        passed.push_back(argument);
      }
    }
    kernel.Clean(passed, request_.kernel_name +
                             (kernels_->size() > 1 ? fmt::format("_{}", kernel.number) : "") + "_kernel");
    std::vector<std::string> grid;
    for (const auto& [axis, block] : kernel.grid_axes()) {
      const int64_t size = sizes.count(axis) ? sizes.at(axis) : 1;
      const int64_t width = Block(kernel, block, size, sizes);
      if (kernel.blocks.count(block))
        passed.push_back(fmt::format("{}={}", inductor::PlainName(block), width));
      grid.push_back(std::to_string((size + width - 1) / width));
    }
    if (kernel.blocks.count("R0_BLOCK"))
      passed.push_back(fmt::format("BLOCK_R={}", std::min<int64_t>(2048, PowerOfTwoFrom(sizes["r0_numel"]))));
    statements_.push_back(fmt::format("{}[({}{})]({})", kernel.plain_name, fmt::join(grid, ", "),
                                      grid.size() == 1 ? "," : "", fmt::join(passed, ", ")));
    plan_.push_back(
        fmt::format("{}: {} programs, {}.", kernel.plain_name, fmt::join(grid, " x "), kernel.kind));
  }

  // How many elements along an axis one program computes.
  static int64_t Block(const Kernel& kernel, const std::string& block, int64_t size,
                       const std::map<std::string, int64_t>& sizes) {
    if (!kernel.blocks.count(block)) return 1;
    int64_t most = kernel.grid_axes().size() > 1 ? 32 : 512;
    if (const auto row = sizes.find("r0_numel"); row != sizes.end())
      most =
          kernel.blocks.count("R0_BLOCK") ? 1 : std::clamp<int64_t>(2048 / PowerOfTwoFrom(row->second), 1, 8);
    return std::min(most, PowerOfTwoFrom(size));
  }

  void Return(const std::string& line) {
    std::vector<std::string> leaves = Arguments(std::string_view(line).substr(8, line.rfind(')') - 8));
    for (std::string& leaf : leaves) leaf = Value(leaf);
    returned_ = FillStructure(request_.structure, leaves);
    if (returned_.empty()) throw NoPlainForm("another number of results");
  }

  std::map<std::string, Kernel>* kernels_;
  const CleanRequest& request_;
  NameTable names_;
  std::map<std::string, std::string> inputs_;
  std::map<std::string, size_t> allocated_;  // target → its statement
  std::vector<std::string> statements_, plan_;
  std::string returned_;
  int library_calls_ = 0;
};

std::map<std::string, Kernel> FindKernels(std::string_view source) {
  std::map<std::string, Kernel> kernels;
  size_t from = 0;
  while (auto name = Between(source, "async_compile.triton('", "', '''", &from)) {
    const size_t start = from;
    size_t end = start;
    if (!Between(source, "", "''', device_str=", &end)) throw NoPlainForm("a kernel that does not end");
    Kernel kernel =
        Kernel::Parse(source.substr(start, end - start - std::string_view("''', device_str=").size()));
    kernel.number = static_cast<int>(kernels.size()) + 1;
    kernels.emplace(*name, std::move(kernel));
    from = end;
  }
  return kernels;
}

CleanedInductor Clean(std::string_view source, const CleanRequest& request) {
  std::map<std::string, Kernel> kernels = FindKernels(source);
  size_t from = 0;
  const auto body = Between(source, "def call(", "\nrunner = ", &from);
  if (!body) throw NoPlainForm("no call() function");
  CallCleaner call(&kernels, request);
  for (const std::string& line : Lines(body->substr(std::min(body->find('\n'), body->size())))) {
    if (const std::string statement(Trimmed(line)); !statement.empty()) call.Line(statement);
  }
  CleanedInductor cleaned{.kernels = static_cast<int>(kernels.size()), .library_calls = call.library_calls()};
  std::vector<const Kernel*> in_order;
  for (const auto& [name, kernel] : kernels) in_order.push_back(&kernel);
  std::sort(in_order.begin(), in_order.end(), [](auto* a, auto* b) { return a->number < b->number; });
  std::string text;
  std::set<std::string> helpers;
  for (const Kernel* kernel : in_order) {
    if (kernel->plain.empty()) throw NoPlainForm("a kernel that is never launched");
    text += "\n\n" + kernel->plain;
    helpers.insert(kernel->helpers.begin(), kernel->helpers.end());
  }
  cleaned.code = "import torch\nimport triton\nimport triton.language as tl\n";
  if (text.find("libdevice.") != std::string::npos)
    cleaned.code += "from triton.language.extra import libdevice\n";
  for (const std::string& helper : helpers) cleaned.code += "\n\n" + helper;
  cleaned.code += text + "\n\n" + call.Function();
  for (const std::string& line : call.plan()) cleaned.plan += line + "\n";
  return cleaned;
}

}  // namespace

std::variant<CleanedInductor, std::string> CleanInductor(std::string_view source,
                                                         const CleanRequest& request) {
  try {
    return Clean(source, request);
  } catch (const NoPlainForm& reason) {
    return std::string(reason.what());
  }
}

}  // namespace tritogen
