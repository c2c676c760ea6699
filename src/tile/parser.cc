#include "tile/parser.h"

#include "tile/control_flow.h"
#include "tile/op_traits.h"
#include "tile/tile.h"
#include "tile/verify_module.h"

namespace tritogen::tile {
namespace {

constexpr size_t kMaxTextBytes = size_t{16} << 20;
constexpr int kMaxRegionDepth = 200;
constexpr size_t kMaxBlocks = 4096;   // of one region
constexpr size_t kMaxResults = 1024;  // of one operation

const std::unordered_map<std::string_view, OpCode>& OpCodes() {
  static const std::unordered_map<std::string_view, OpCode> kCodes = {
#define X(code, text) {text, OpCode::code},
#include "tile/ops.def"
#undef X
  };
  return kCodes;
}

}  // namespace

Module ParseTtir(std::string_view text) {
  if (text.size() > kMaxTextBytes) throw TtirError(1, "the text is longer than 16 MiB", true);
  Module module = Parser(text).Parse();
  VerifyModule(module);
  return module;
}

// ---------------------------------------------------------------- tokens

Token Parser::Take() {
  Token taken = token();
  lexer_.Advance();
  return taken;
}

bool Parser::Accept(char c) {
  if (!token().Is(c)) return false;
  lexer_.Advance();
  return true;
}

bool Parser::Accept(std::string_view word) {
  if (!token().Is(word)) return false;
  lexer_.Advance();
  return true;
}

void Parser::Expect(char c) {
  if (!Accept(c)) FailUnexpected(fmt::format("'{}'", c));
}

void Parser::Expect(std::string_view word) {
  if (!Accept(word)) FailUnexpected(fmt::format("'{}'", word));
}

void Parser::ExpectArrow() {
  if (!At(TokenKind::kArrow)) FailUnexpected("'->'");
  lexer_.Advance();
}

std::string_view Parser::TakeWord(std::string_view what) {
  if (!At(TokenKind::kWord)) FailUnexpected(what);
  return Take().text;
}

void Parser::Fail(const std::string& message) const {
  throw TtirError(lexer_.previous_line(), message);
}

void Parser::FailHere(const std::string& message) const {
  throw TtirError(token().line, message);
}

void Parser::FailUnexpected(std::string_view wanted) const {
  if (At(TokenKind::kEnd)) FailHere(fmt::format("expected {}, but the text ends", wanted));
  FailHere(fmt::format("expected {}, found '{}'", wanted, token().text.substr(0, 60)));
}

void Parser::FailUnsupported(const std::string& message) const {
  throw TtirError(token().line, message, /*unsupported=*/true);
}

// ---------------------------------------------------------------- module and functions

Module Parser::Parse() {
  Module module;
  while (At(TokenKind::kAlias)) lexer_.SkipLine();
  Expect("module");
  if (At(TokenKind::kSymbol)) lexer_.Advance();
  if (Accept("attributes")) ParseAttributes(nullptr);
  Expect('{');
  while (!Accept('}')) module.functions.push_back(ParseFunction());
  ParseLocation();
  while (At(TokenKind::kAlias)) lexer_.SkipLine();
  if (!At(TokenKind::kEnd)) FailUnexpected("the end of the text");
  return module;
}

Function Parser::ParseFunction() {
  Function function;
  function_ = &function;
  names_.clear();
  defined_.clear();
  function.ttir_line = function.line = token().line;
  Expect("tt.func");
  function.is_public = !Accept("private");
  if (function.is_public) Accept("public");
  if (!At(TokenKind::kSymbol)) FailUnexpected("the function's @name");
  function.name = Unescape(Take().text);
  std::vector<NamedType> parameters = ParseParameters(&function.divisors);
  ParseResultTypes(function);
  if (Accept("attributes")) ParseAttributes(nullptr);
  if (!token().Is('{')) FailUnexpected("the function's body");
  function.body = ParseRegion(parameters);
  SortBlocks(function.body);
  function.parameters = function.body.blocks.front().arguments;
  if (function.parameters.size() != parameters.size())
    Fail("the entry block has arguments that the function lacks");
  if (int line = ParseLocation()) function.line = line;
  return function;
}

std::vector<Parser::NamedType> Parser::ParseParameters(std::vector<int64_t>* divisors) {
  std::vector<NamedType> parameters;
  Expect('(');
  if (Accept(')')) return parameters;
  do {
    if (!At(TokenKind::kValue)) FailUnexpected("a parameter");
    std::string_view name = Take().text;
    Expect(':');
    parameters.push_back({name, ParseType()});
    Operation hints;
    ParseAttributes(&hints);
    const auto divisor = hints.Attr<std::vector<int64_t>>("tt.divisibility");
    if (divisors != nullptr) divisors->push_back(divisor.empty() ? 1 : divisor[0]);
    ParseLocation();
  } while (Accept(','));
  Expect(')');
  return parameters;
}

void Parser::ParseResultTypes(Function& function) {
  if (!At(TokenKind::kArrow)) return;
  lexer_.Advance();
  if (!Accept('(')) {
    function.results.push_back(ParseType());
    return;
  }
  if (Accept(')')) return;
  do {
    function.results.push_back(ParseType());
    ParseAttributes(nullptr);
  } while (Accept(','));
  Expect(')');
}

// ---------------------------------------------------------------- regions and blocks

int Parser::Labels::IdOf(std::string_view name, int line) {
  auto [it, is_new] = ids.try_emplace(name, static_cast<int>(labels.size()));
  if (is_new) labels.push_back({name, line});
  return it->second;
}

Region Parser::ParseRegion(std::span<const NamedType> entry_arguments, bool implicit_yield) {
  if (++depth_ > kMaxRegionDepth)
    FailUnsupported(fmt::format("regions nest deeper than {}", kMaxRegionDepth));
  Labels labels;
  Labels* outer_labels = std::exchange(labels_, &labels);
  const size_t outer_names = defined_.size();

  Region region;
  int line = token().line;
  Expect('{');
  if (!entry_arguments.empty() || !At(TokenKind::kLabel)) {
    Block& entry = region.blocks.emplace_back();
    DefineArguments(entry_arguments, entry);
    ParseOperations(entry);
  }
  while (At(TokenKind::kLabel)) ParseLabelledBlock(region);
  Expect('}');
  ResolveSuccessors(region);

  Block& last = region.blocks.back();
  if (implicit_yield && (last.operations.empty() || !IsTerminator(last.operations.back().code))) {
    Operation yield;
    yield.code = OpCode::kYield;
    yield.line = yield.ttir_line = line;
    last.operations.push_back(std::move(yield));
  }
  for (size_t i = outer_names; i < defined_.size(); ++i) names_.erase(defined_[i]);
  defined_.resize(outer_names);
  labels_ = outer_labels;
  --depth_;
  return region;
}

void Parser::ParseLabelledBlock(Region& region) {
  int id = labels_->IdOf(token().text, token().line);
  Labels::Label& label = labels_->labels[id];
  if (label.block >= 0) FailHere(fmt::format("block ^{} is defined twice", label.name));
  label.block = static_cast<int>(region.blocks.size());
  lexer_.Advance();
  std::vector<NamedType> arguments;
  if (token().Is('(')) arguments = ParseParameters(nullptr);
  Expect(':');
  Block& block = region.blocks.emplace_back();
  DefineArguments(arguments, block);
  ParseOperations(block);
}

void Parser::SortBlocks(Region& region) {
  if (region.blocks.size() > kMaxBlocks) FailUnsupported(fmt::format("more than {} blocks", kMaxBlocks));
  if (!OrderBlocks(region)) FailUnsupported("branches that form a loop are not supported");
}

void Parser::ParseOperations(Block& block) {
  while (!token().Is('}') && !At(TokenKind::kLabel)) {
    block.operations.push_back(ParseOperation());
    if (!IsTerminator(block.operations.back().code)) continue;
    if (!token().Is('}') && !At(TokenKind::kLabel)) {
      FailHere(fmt::format("an operation follows {}", OpName(block.operations.back().code)));
    }
  }
}

void Parser::ResolveSuccessors(Region& region) {
  for (const Labels::Label& label : labels_->labels) {
    if (label.block < 0) throw TtirError(label.line, fmt::format("block ^{} does not exist", label.name));
  }
  for (Block& block : region.blocks) {
    if (block.operations.empty()) continue;
    for (Successor& successor : block.operations.back().successors) {
      successor.block = labels_->labels[successor.block].block;
    }
  }
}

// ---------------------------------------------------------------- operations

Operation Parser::ParseOperation() {
  Operation op;
  std::vector<ResultName> names;
  if (At(TokenKind::kValue)) names = ParseResultNames();
  op.line = op.ttir_line = token().line;
  op.code = ParseOpName();
  std::vector<Type> types = ParseBody(op);
  if (int line = ParseLocation()) op.line = line;
  DefineResults(names, std::move(types), op);
  return op;
}

std::vector<Parser::ResultName> Parser::ParseResultNames() {
  std::vector<ResultName> names;
  do {
    if (!At(TokenKind::kValue)) FailUnexpected("a result");
    ResultName& result = names.emplace_back(ResultName{Take().text});
    if (result.name.find('#') != std::string_view::npos) Fail("'#' in the name of a result");
    if (Accept(':')) {
      int64_t count = TakeInteger();
      if (count < 1 || count > static_cast<int64_t>(kMaxResults)) Fail("a result pack of a strange size");
      result.count = static_cast<size_t>(count);
    }
  } while (Accept(','));
  Expect('=');
  return names;
}

OpCode Parser::ParseOpName() {
  bool quoted = At(TokenKind::kString);
  if (!quoted && !At(TokenKind::kWord)) FailUnexpected("an operation");
  std::string_view name = token().text;
  auto it = OpCodes().find(name);
  if (it == OpCodes().end()) FailUnsupported(fmt::format("unknown operation '{}'", name.substr(0, 60)));
  if (quoted != IsGenericForm(it->second)) {
    FailUnsupported(fmt::format("{} is printed in a form that is not known", name));
  }
  lexer_.Advance();
  return it->second;
}

void Parser::DefineResults(std::span<const ResultName> names, std::vector<Type> types, Operation& op) {
  size_t named = 0;
  for (const ResultName& name : names) named += name.count;
  if (!names.empty() && named != types.size()) {
    throw TtirError(op.ttir_line,
                    fmt::format("{} has {} results, but {} are named", OpName(op.code), types.size(), named));
  }
  for (Type& type : types) op.results.push_back(NewValue(std::move(type)));
  size_t next = 0;
  for (const ResultName& name : names) {
    Define(name.name, {op.results[next], name.count});
    next += name.count;
  }
}

int Parser::ParseLocation() {
  if (!Accept("loc")) return 0;
  if (!token().Is('(')) FailUnexpected("'('");
  return locations_.Line(lexer_.SkipBrackets());
}

// ---------------------------------------------------------------- names

ValueId Parser::NewValue(Type type) {
  function_->values.push_back(std::move(type));
  return static_cast<ValueId>(function_->values.size() - 1);
}

void Parser::Define(std::string_view name, Binding binding) {
  if (!names_.emplace(name, binding).second) Fail(fmt::format("%{} is defined twice", name));
  defined_.push_back(name);
}

void Parser::DefineArguments(std::span<const NamedType> arguments, Block& block) {
  for (const NamedType& argument : arguments) {
    block.arguments.push_back(NewValue(argument.type));
    Define(argument.name, {block.arguments.back(), 1});
  }
}

// %name, or %name#2 for one of a pack.
ValueId Parser::Use() {
  if (!At(TokenKind::kValue)) FailUnexpected("a value");
  std::string_view text = token().text;
  size_t hash = text.find('#');
  auto it = names_.find(text.substr(0, hash));
  if (it == names_.end()) FailHere(fmt::format("%{} is not defined here", text));
  size_t index = 0;
  if (hash != std::string_view::npos) {
    for (char digit : text.substr(hash + 1)) index = std::min(index * 10 + (digit - '0'), kMaxResults);
  } else if (it->second.count != 1) {
    FailHere(fmt::format("%{} stands for {} values", text, it->second.count));
  }
  if (index >= it->second.count) FailHere(fmt::format("%{} does not exist", text));
  lexer_.Advance();
  return it->second.first + static_cast<ValueId>(index);
}

}  // namespace tritogen::tile
