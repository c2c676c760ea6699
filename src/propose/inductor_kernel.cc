#include "propose/inductor_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/python_tokens.h"
#include "base/text.h"
#include "program/names.h"

namespace tritogen::inductor {
namespace {

using Kind = PythonToken::Kind;

// Names in a line, but no attributes and no keywords of calls.
template <typename Visit>
std::string MapNames(const std::string& line, const Visit& visit) {
  std::string result;
  bool attribute = false;
  for (const PythonToken& token : PythonTokens(line)) {
    result +=
        token.kind == Kind::kName && !attribute ? visit(std::string(token.text)) : std::string(token.text);
    attribute = token.text == ".";
  }
  return result;
}

std::string Renamed(const std::string& line, const std::map<std::string, std::string>& names) {
  return MapNames(line, [&](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  });
}

int Uses(const std::vector<std::string>& lines, const std::string& name) {
  int uses = 0;
  for (const std::string& line : lines) {
    MapNames(line, [&](const std::string& other) {
      uses += other == name;
      return other;
    });
  }
  return uses;
}

// "tmp3" of "    tmp3 = …" or "    BLOCK: tl.constexpr = …"; empty for anything else.
std::string TargetOf(const std::string& line) {
  const size_t assign = line.find(" = ");
  if (assign == std::string::npos) return "";
  std::string target(Trimmed(std::string_view(line).substr(0, assign)));
  if (target.ends_with(',')) target.pop_back();  // "tmp3, = tl.associative_scan(…)"
  target = target.substr(0, target.find(':'));
  return IsIdentifier(target) ? target : "";
}

std::string ValueOf(const std::string& line) {
  return std::string(Trimmed(std::string_view(line).substr(line.find(" = ") + 3)));
}

std::string Indent(const std::string& line) {
  return line.substr(0, std::min(line.find_first_not_of(' '), line.size()));
}

// Lines that compute what nobody reads go, until there is none.
void DropUnread(std::vector<std::string>* lines) {
  for (size_t before = lines->size() + 1; before != lines->size();) {
    before = lines->size();
    std::erase_if(*lines, [&](const std::string& line) {
      const std::string target = TargetOf(line);
      return !target.empty() && Uses(*lines, target) == 1;
    });
  }
}

bool IsAssignedOnce(const std::vector<std::string>& lines, const std::string& name) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& line) { return TargetOf(line) == name; }) == 1;
}

// Second names for one thing ("rindex = r0_index") and constants in a tile of one element go.
void Inline(std::vector<std::string>* lines) {
  for (size_t i = 0; i < lines->size();) {
    const std::string target = TargetOf((*lines)[i]);
    std::string value = target.empty() ? "" : ValueOf((*lines)[i]);
    constexpr std::string_view kOne[] = {"tl.full([1], ", "tl.full([1, 1], "};
    for (std::string_view start : kOne) {
      if (!value.starts_with(start) || !value.ends_with(", tl.float32)")) continue;
      const std::string number = value.substr(start.size(), value.size() - start.size() - 13);
      const bool plain = number.find_first_not_of("0123456789.e-+") == std::string::npos;
      const bool has_method = std::any_of(lines->begin(), lines->end(), [&](const std::string& line) {
        return line.find(target + ".to(") != std::string::npos;
      });
      if (plain && !has_method) value = number.starts_with('-') ? "(" + number + ")" : number;
    }
    const bool number = !value.empty() &&
                        (std::isdigit(static_cast<unsigned char>(value[0])) || value[0] == '(') &&
                        value != ValueOf((*lines)[i]);
    const bool alias = IsIdentifier(value) && IsAssignedOnce(*lines, value);
    if (target.empty() || !(number || alias) || !IsAssignedOnce(*lines, target)) {
      ++i;
      continue;
    }
    lines->erase(lines->begin() + static_cast<int64_t>(i));
    for (std::string& line : *lines) line = Renamed(line, {{target, value}});
  }
}

// What a value is called after: the function or the operator that makes it.
std::string NameFor(const std::string& value) {
  if (value.starts_with("tl.load(")) {
    const std::string pointer = value.substr(8, value.find_first_of(" ,+)", 8) - 8);
    return pointer.ends_with("_ptr") ? pointer.substr(0, pointer.size() - 4) + "_value" : "value";
  }
  if (value.ends_with("[:, None].to(tl.float32)") || value.ends_with("[:, None]"))
    return NameFor(value.substr(0, value.rfind("[:, None]"))) + (value.starts_with("tl.") ? "_of_row" : "");
  const size_t open = value.find('(');
  if (open != std::string::npos && open > 0) {
    const std::string callee = value.substr(0, open);
    const std::string last(LastPart(callee));
    if (last == "broadcast_to" || last == "where" || last == "full" || last == "to")
      return last == "where" ? "masked" : "tile";
    if (IsIdentifier(last)) return last + "_result";
  }
  for (const auto& [sign, name] : {std::pair(" + ", "total"),
                                   {" - ", "difference"},
                                   {" * ", "product"},
                                   {" / ", "quotient"},
                                   {" < ", "less"},
                                   {" > ", "greater"},
                                   {" & ", "both"},
                                   {" | ", "either"}}) {
    if (value.find(sign) != std::string::npos) return name;
  }
  return "value";
}

void NameValues(std::vector<std::string>* lines, NameTable* names) {
  std::map<std::string, std::string> renamed;
  for (const std::string& line : *lines) {
    const std::string target = TargetOf(line);
    const bool generated = target.starts_with("tmp") || target.starts_with("_tmp");
    if (!generated || renamed.count(target)) continue;
    renamed[target] = names->Unique(target[0] == '_' ? "running" : NameFor(Renamed(ValueOf(line), renamed)));
  }
  for (std::string& line : *lines) line = Renamed(line, renamed);
}

std::string WithoutArgument(std::string line, std::string_view start) {
  for (size_t at; (at = line.find(start)) != std::string::npos;) {
    const size_t end = line.find('\'', at + start.size());
    if (end == std::string::npos) break;
    line.erase(at, end + 1 - at);
  }
  return line;
}

// Functions that a scan combines two values with: "_triton_helper_fn_add0(arg0_0, arg1_0)".
std::string PlainHelperName(const std::string& name) {
  constexpr std::string_view kPrefix = "_triton_helper_fn_";
  if (name.starts_with(kPrefix)) return "combine_" + name.substr(kPrefix.size());
  if (name.starts_with("arg0_")) return "left" + name.substr(5);
  if (name.starts_with("arg1_")) return "right" + name.substr(5);
  return name.starts_with("tmp") ? "result" + name.substr(3) : name;
}

// Inductor's helpers, as functions that the file brings along.
constexpr std::pair<const char*, const char*> kHelpers[] = {
    {"maximum",
     "@triton.jit\ndef maximum(a, b):\n    # NaN where one of them is NaN, as in PyTorch\n"
     "    return tl.where((a > b) | (a != a), a, b)\n"},
    {"minimum",
     "@triton.jit\ndef minimum(a, b):\n    # NaN where one of them is NaN, as in PyTorch\n"
     "    return tl.where((a < b) | (a != a), a, b)\n"}};

std::string PlainCalls(std::string line, std::set<std::string>* helpers, bool persistent) {
  line = WithoutArgument(line, ", eviction_policy='");
  line = ReplaceAll(line, "tl_math.", "tl.");
  line = ReplaceAll(line, "triton_helpers.max2(", "tl.max(");
  line = ReplaceAll(line, "triton_helpers.min2(", "tl.min(");
  for (const auto& [name, text] : kHelpers) {
    const std::string call = fmt::format("triton_helpers.{}(", name);
    if (line.find(call) == std::string::npos) continue;
    helpers->insert(text);
    line = ReplaceAll(line, call, fmt::format("{}(", name));
  }
  if (const size_t at = line.find("triton_helpers."); at != std::string::npos)
    throw NoPlainForm(line.substr(at, line.find('(', at) - at));
  return line;
}

void AddComments(std::vector<std::string>* lines, const std::string& kind) {
  auto before = [&](std::string_view what, const std::string& comment) {
    const auto line = std::find_if(lines->begin(), lines->end(), [&](const std::string& text) {
      return text.find(what) != std::string::npos;
    });
    if (line != lines->end()) lines->insert(line, Indent(*line) + "# " + comment);
  };
  before("tl.program_id(", kind == "pointwise" ? "The elements that this program computes."
                                               : "The rows that this program reduces.");
  before("for ", "The row in parts: partial results stay in registers.");
  before("tl.load(", "What it reads; lanes outside of the tensor read nothing.");
  before("tl.store(", "What it writes.");
}

}  // namespace

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string PlainName(const std::string& name) {
  static const std::map<std::string, std::string> kPlain = {
      {"XBLOCK", "BLOCK_X"},    {"YBLOCK", "BLOCK_Y"},   {"R0_BLOCK", "BLOCK_R"}, {"xnumel", "x_count"},
      {"ynumel", "y_count"},    {"r0_numel", "r_count"}, {"xoffset", "x_start"},  {"yoffset", "y_start"},
      {"xindex", "x"},          {"yindex", "y"},         {"r0_index", "r"},       {"r0_base", "r_lane"},
      {"r0_offset", "r_start"}, {"xmask", "x_mask"},     {"ymask", "y_mask"},     {"r0_mask", "r_mask"}};
  const auto found = kPlain.find(name);
  return found == kPlain.end() ? name : found->second;
}

Kernel Kernel::Parse(std::string_view text) {
  Kernel kernel;
  bool in_decorator = false, in_kernel = false;
  for (const std::string& line : Lines(text)) {
    if (line.starts_with("@triton_heuristics.")) {
      kernel.kind = line.substr(19, line.find('(') - 19);
      in_decorator = true;
    } else if (in_decorator) {
      if (const size_t at = line.find("'grid_type': '"); at != std::string::npos)
        kernel.grid_type = line.substr(at + 14, line.find('\'', at + 14) - at - 14);
      in_decorator = line != ")";
    } else if (!kernel.kind.empty() && line.starts_with("def ")) {
      in_kernel = true;
      const size_t open = line.find('(');
      for (std::string_view rest = std::string_view(line).substr(open + 1, line.rfind(')') - open - 1);
           !rest.empty();) {
        const std::string parameter(Trimmed(rest.substr(0, rest.find(','))));
        const std::string name(Trimmed(std::string_view(parameter).substr(0, parameter.find(':'))));
        if (!IsIdentifier(name)) throw NoPlainForm("a parameter: " + parameter);
        kernel.parameters.push_back(name);
        if (parameter.find("constexpr") != std::string::npos) kernel.blocks.insert(name);
        rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
      }
    } else if (in_kernel) {
      if (!Trimmed(line).empty()) kernel.body.push_back(line);
    } else if (kernel.kind.empty() && !line.starts_with("import ") && !line.starts_with("from ") &&
               !line.starts_with("triton_helpers.set_driver")) {
      kernel.before += line + "\n";
    }
  }
  if (!in_kernel) throw NoPlainForm("a kernel without a function");
  if (kernel.kind != "pointwise" && kernel.kind != "reduction" && kernel.kind != "persistent_reduction")
    throw NoPlainForm("a kernel of the kind " + kernel.kind);
  if (kernel.grid_type != "Grid1D" && kernel.grid_type != "Grid2D")
    throw NoPlainForm("a grid " + kernel.grid_type);
  kernel.before = std::string(Trimmed(kernel.before));
  return kernel;
}

std::vector<std::pair<std::string, std::string>> Kernel::grid_axes() const {
  if (grid_type == "Grid2D") return {{"xnumel", "XBLOCK"}, {"ynumel", "YBLOCK"}};
  return {{"xnumel", "XBLOCK"}};
}

void Kernel::Clean(const std::vector<std::string>& passed, const std::string& name) {
  if (!plain.empty()) return;
  plain_name = name;
  std::vector<std::string> lines;
  for (const std::string& line : body) {
    if (Trimmed(line).starts_with("tl.device_assert(")) continue;
    lines.push_back(PlainCalls(line, &helpers, kind == "persistent_reduction"));
  }
  NameTable names;
  std::map<std::string, std::string> plain_names;
  std::vector<std::string> signature;
  size_t next = 0;
  for (const std::string& parameter : parameters) {
    if (parameter.ends_with("numel")) continue;  // the body says its value
    std::string wish = PlainName(parameter);
    if (!blocks.count(parameter)) {
      const std::string tensor = next < passed.size() ? passed[next] : "";
      ++next;
      wish = (IsIdentifier(tensor) ? tensor : "tensor") + "_ptr";
    }
    plain_names[parameter] = names.Unique(wish);
    signature.push_back(plain_names[parameter] + (blocks.count(parameter) ? ": tl.constexpr" : ""));
  }
  DropUnread(&lines);
  Inline(&lines);
  for (std::string& line : lines) {
    line = Renamed(line, plain_names);
    line = MapNames(line, [](const std::string& other) { return PlainName(other); });
    MapNames(line, [&](const std::string& other) {
      return other.starts_with("tmp") ? other : (names.Unique(other), other);
    });
  }
  NameValues(&lines, &names);
  AddComments(&lines, kind);
  for (std::string& line : lines) {
    line = MapNames(line, [](const std::string& other) {
      return other.starts_with("_triton_helper") ? PlainHelperName(other) : other;
    });
  }
  plain = before.empty() ? "" : MapNames(before, PlainHelperName) + "\n\n\n";
  plain += fmt::format("@triton.jit\ndef {}({}):\n", plain_name, fmt::join(signature, ", "));
  for (const std::string& line : lines) plain += line + "\n";
}

}  // namespace tritogen::inductor
