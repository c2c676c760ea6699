#include "program/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "program/infer.h"
#include "program/spelling.h"

namespace tritogen {
namespace {

constexpr size_t kMostLines = 100'000;
constexpr int kMostNesting = 4;

// Where the comment starts; npos without one.
size_t CommentStart(std::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == quote)
        quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return i;
    }
  }
  return std::string_view::npos;
}

// Brackets match outside quotes, and nothing but structure is there.
bool IsBalanced(std::string_view structure) {
  std::string open;
  char quote = 0;
  for (size_t i = 0; i < structure.size(); ++i) {
    const char c = structure[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return false;
      open.pop_back();
    } else if (c != '*' && c != ',' && c != ':' && !std::isdigit(static_cast<unsigned char>(c))) {
      return false;
    }
  }
  return open.empty() && quote == 0;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Program Parse() {
    while (!done_ && NextLine()) ReadLine();
    if (!done_) Fail("the function does not return");
    while (NextLine()) {
      if (!code_.empty()) Fail("text after the return");
    }
    return std::move(program_);
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw FormatError(fmt::format("program, line {}: {}", line_, what));
  }

  bool NextLine() {
    if (at_ > text_.size() || (at_ == text_.size() && line_ > 0)) return false;
    if (++line_ > kMostLines) Fail("too many lines");
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    const size_t hash = CommentStart(line);
    code_ = Trimmed(line.substr(0, hash), " ");
    comment_ = hash == std::string_view::npos ? "" : Trimmed(line.substr(hash + 1), " ");
    return true;
  }

  void ReadLine() {
    if (!in_function_) {
      if (code_.starts_with("def ")) return ReadHead();
      if (!code_.empty() && !code_.starts_with("import ")) Fail("expected `def program(…):`");
      return;
    }
    if (code_.empty()) {
      if (unshaped_ > 0 && !comment_.empty()) ReadLeafComment();
      return;
    }
    if (unshaped_ > 0) Fail("a parameter has no comment with its dtype and shape: `# x: float32[2, 3]`");
    if (code_.starts_with("return")) return ReadReturn();
    ReadAssignment();
  }

  void ReadHead() {
    const size_t open = code_.find('('), close = code_.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
        Trimmed(code_.substr(close + 1), " ") != ":")
      Fail("expected `def NAME(PARAMETERS):`");
    for (std::string_view name : SplitOutside(code_.substr(open + 1, close - open - 1), ',')) {
      Node leaf;
      leaf.kind = NodeKind::kInput;
      leaf.name = name;
      Define(name, static_cast<NodeId>(program_.nodes.size()), 0);
      program_.nodes.push_back(std::move(leaf));
    }
    unshaped_ = program_.nodes.size();
    in_function_ = true;
  }

  // "up_weight: float32[4, 3], parameter "up.weight""
  void ReadLeafComment() {
    const size_t colon = comment_.find(':');
    auto found = values_.find(std::string(comment_.substr(0, colon)));
    if (colon == std::string_view::npos || found == values_.end()) return;  // prose
    Node& leaf = program_.nodes[found->second.id];
    if (!leaf.results.empty()) Fail("a parameter has two comments");
    const auto parts = SplitOutside(comment_.substr(colon + 1), ',');
    if (parts.empty()) Fail("expected dtype and shape");
    leaf.results = {ReadShape(parts[0])};
    if (parts.size() > 1) ReadRole(parts[1], &leaf);
    --unshaped_;
  }

  void ReadRole(std::string_view text, Node* leaf) {
    const size_t blank = text.find(' ');
    const std::string_view role = text.substr(0, blank);
    auto name = blank == std::string_view::npos ? std::nullopt : ReadLiteral(text.substr(blank));
    const auto* string = name ? std::get_if<std::string>(&name->v) : nullptr;
    if (string == nullptr) Fail("expected a role and a name: `parameter \"up.weight\"`");
    leaf->name = *string;
    if (role == "parameter")
      leaf->kind = NodeKind::kParameter;
    else if (role == "buffer")
      leaf->kind = NodeKind::kBuffer;
    else if (role == "constant")
      leaf->kind = NodeKind::kConstant;
    else if (role != "input")
      Fail("a role is input, parameter, buffer or constant");
  }

  Shape ReadShape(std::string_view text) const {
    const size_t open = text.find('[');
    if (open == std::string_view::npos) Fail("expected a shape such as float32[2, 3]");
    auto dtype = DtypeFromName(text.substr(0, open));
    auto literal = ReadLiteral(text.substr(open));
    auto sizes = literal && AsList(*literal) ? AsInts(*literal) : std::nullopt;
    if (!dtype || !sizes) Fail(fmt::format("no dtype and shape: {}", text));
    double elements = 1;
    for (int64_t size : *sizes) {
      if (size < 0) Fail("a negative size");
      elements *= static_cast<double>(size);
    }
    if (elements > 0x1p48 || sizes->size() > 64) Fail("a tensor that is too large");
    return {*dtype, *sizes};
  }

  void Define(std::string_view name, NodeId id, int result) {
    if (!IsIdentifier(name) || name == "torch") Fail(fmt::format("not a name: {}", name));
    if (!values_.emplace(name, NodeRef{id, result}).second) Fail(fmt::format("{} has a value already", name));
  }

  void ReadAssignment() {
    const size_t equals = code_.find(" = ");
    if (equals == std::string_view::npos) Fail("expected `NAME = CALL`");
    const auto targets = SplitOutside(code_.substr(0, equals), ',');
    auto node = Unspell(ReadCall(Trimmed(code_.substr(equals + 3), " ")));
    if (!node) Fail("the catalogue has no such call; see docs/programs.md");
    std::vector<Shape> stated;
    for (std::string_view shape : SplitOutside(comment_, ',')) stated.push_back(ReadShape(shape));
    node->results = Results(*node, stated);
    if (targets.size() != node->results.size() && !(targets.size() == 1 && node->results.empty()))
      Fail(fmt::format("{} names for {} results", targets.size(), node->results.size()));
    if (targets.empty()) Fail("expected a name before `=`");
    node->name = targets[0];
    const auto id = static_cast<NodeId>(program_.nodes.size());
    for (size_t i = 0; i < targets.size(); ++i) Define(targets[i], id, static_cast<int>(i));
    program_.nodes.push_back(std::move(*node));
  }

  // What the rule says, and for results that it leaves open or operators without a rule what the comment
  // says.
  std::vector<Shape> Results(const Node& node, const std::vector<Shape>& stated) const {
    auto call = BindCall(node);
    if (!call) {
      if (stated.empty())
        Fail(fmt::format("{} is not in the catalogue and has no comment with shapes", node.op));
      return stated;
    }
    Inferred inferred = InferResults(*call, LookupIn(program_));
    if (!inferred.problem.empty()) Fail(fmt::format("{}: {}", node.op, inferred.problem));
    for (size_t i = 0; i < stated.size(); ++i) {
      if (i >= inferred.results.size()) {
        inferred.results.push_back(stated[i]);
      } else if (!(inferred.results[i] == stated[i])) {
        Fail(fmt::format("{} gives {}[{}], not what the comment says", node.op,
                         DtypeName(inferred.results[i].dtype), fmt::join(inferred.results[i].sizes, ", ")));
      }
    }
    return std::move(inferred.results);
  }

  PythonCall ReadCall(std::string_view text) const {
    if (text.ends_with(']')) return ReadSubscript(text);
    const size_t open = text.find('(');
    if (open == std::string_view::npos || !text.ends_with(')')) Fail("expected a call");
    PythonCall call;
    std::string_view callee = text.substr(0, open);
    if (!callee.starts_with("torch.")) {
      const size_t dot = callee.find('.');
      if (dot == std::string_view::npos) Fail(fmt::format("unknown function {}", callee));
      call.args.push_back(Arg{Lookup(callee.substr(0, dot))});
      callee = callee.substr(dot);
    }
    call.callee = callee;
    for (std::string_view part : SplitOutside(text.substr(open + 1, text.size() - open - 2), ',')) {
      const size_t equals = part.find('=');
      if (equals != std::string_view::npos && IsIdentifier(part.substr(0, equals))) {
        if (part.substr(0, equals) == "device") continue;  // where, not what
        call.kwargs.emplace_back(part.substr(0, equals), ReadArg(part.substr(equals + 1), 0));
      } else if (call.kwargs.empty()) {
        call.args.push_back(ReadArg(part, 0));
      } else {
        Fail("an argument by position after one by keyword");
      }
    }
    return call;
  }

  // x[:, 1:4:2]: the last item is the slice.
  PythonCall ReadSubscript(std::string_view text) const {
    const size_t open = text.find('[');
    const auto items = SplitOutside(text.substr(open + 1, text.size() - open - 2), ',');
    PythonCall call{"[]", {Arg{Lookup(text.substr(0, open))}}, {}};
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      if (items[i] != ":") Fail("only the last dimension named may be cut");
    }
    if (items.empty() || items.back().find(':') == std::string_view::npos) Fail("expected a slice");
    call.args.push_back(Arg{static_cast<int64_t>(items.size() - 1)});
    std::string_view rest = items.back();
    for (int part = 0; part < 3; ++part) {
      const size_t colon = rest.find(':');
      const std::string_view bound = Trimmed(rest.substr(0, colon), " ");
      auto number = ReadLiteral(bound);
      if (!bound.empty() && !(number && AsInt(*number))) Fail("a slice has integers");
      if (part == 2 && bound.empty()) break;
      call.args.push_back(bound.empty() ? Arg{} : *number);
      if (part == 2 && colon != std::string_view::npos) Fail("a slice has at most three numbers");
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    return call;
  }

  NodeRef Lookup(std::string_view name) const {
    auto found = values_.find(std::string(Trimmed(name, " ")));
    if (found == values_.end()) Fail(fmt::format("{} has no value yet", name));
    return found->second;
  }

  Arg ReadArg(std::string_view text, int depth) const {
    text = Trimmed(text, " ");
    if (auto found = values_.find(std::string(text)); found != values_.end()) return Arg{found->second};
    if (auto literal = ReadLiteral(text)) return *literal;
    const bool list = text.size() >= 2 && ((text.front() == '[' && text.back() == ']') ||
                                           (text.front() == '(' && text.back() == ')'));
    if (!list || depth >= kMostNesting) Fail(fmt::format("neither a name nor a literal: {}", text));
    Arg::List items;
    for (std::string_view item : SplitOutside(text.substr(1, text.size() - 2), ','))
      items.push_back(ReadArg(item, depth + 1));
    return Arg{std::move(items)};
  }

  // Names become leaves, everything else is structure: "(a, {"loss": b})" → "(*,{"loss":*})".
  void ReadReturn() {
    std::string_view text = Trimmed(code_.substr(6), " ");
    std::string structure;
    for (size_t i = 0; i < text.size();) {
      const char c = text[i];
      size_t end = i + 1;
      if (c == '"' || c == '\'') {
        while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
        end = std::min(end + 1, text.size());
        structure += text.substr(i, end - i);
      } else if (IsWordByte(c)) {
        while (end < text.size() && IsWordByte(text[end])) ++end;
        const std::string_view word = text.substr(i, end - i);
        const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
        if (number) {
          structure += word;  // the key of a dict
        } else {
          program_.outputs.push_back(word == "None" ? NodeRef{-1} : Lookup(word));
          structure += '*';
        }
      } else if (c != ' ') {
        structure += c;
      }
      i = end;
    }
    if (program_.outputs.empty()) Fail("the function returns nothing");
    if (!IsBalanced(structure)) Fail("brackets of the return do not match");
    program_.structure = std::move(structure);
    done_ = true;
  }

  std::string_view text_, code_, comment_;
  size_t at_ = 0, line_ = 0, unshaped_ = 0;
  bool in_function_ = false, done_ = false;
  Program program_;
  std::unordered_map<std::string, NodeRef> values_;
};

}  // namespace

Program ParseProgram(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace tritogen
