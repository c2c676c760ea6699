// Recursive-descent parser of TTIR text. One file per part of the grammar:
//   parser.cc           module, functions, regions, blocks, names
//   parser_types.cc     types and attributes
//   parser_ops.cc       arithmetic, shapes; which operation has which form
//   parser_memory.cc    loads, stores, atomics, descriptors, dots, messages
//   parser_control.cc   calls, branches, scf.*, reductions
//   literal.cc          constants
// Checks what reading needs (names, printed types against operands, counts); VerifyModule checks the rest.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/ir.h"
#include "tile/lexer.h"
#include "tile/locations.h"

namespace tritogen::tile {

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), locations_(text) {
    names_.reserve(text.size() / 64);
  }
  Module Parse();

 private:
  struct NamedType {
    std::string_view name;
    Type type;
  };
  struct ResultName {
    std::string_view name;
    size_t count = 1;
  };
  // A name stands for `count` consecutive values from `first` on.
  struct Binding {
    ValueId first = 0;
    size_t count = 1;
  };
  // Labels of one region. Branches name a label by its id until the region is complete.
  struct Labels {
    struct Label {
      std::string_view name;
      int line = 0;    // of the first mention
      int block = -1;  // once defined
    };
    std::unordered_map<std::string_view, int> ids;
    std::vector<Label> labels;
    int IdOf(std::string_view name, int line);
  };

  // Tokens. Expect* fail with what was wanted and what was found.
  const Token& token() const { return lexer_.token(); }
  bool At(TokenKind kind) const { return token().kind == kind; }
  Token Take();
  bool Accept(char c);
  bool Accept(std::string_view word);
  void Expect(char c);
  void Expect(std::string_view word);
  void ExpectArrow();
  std::string_view TakeWord(std::string_view what);
  int64_t TakeInteger();                                            // with sign
  [[noreturn]] void Fail(const std::string& message) const;         // about what was just read
  [[noreturn]] void FailHere(const std::string& message) const;     // about the next token
  [[noreturn]] void FailUnexpected(std::string_view wanted) const;  // "expected …, found …"
  [[noreturn]] void FailUnsupported(const std::string& message) const;

  // Module, functions, regions.
  Function ParseFunction();
  std::vector<NamedType> ParseParameters(std::vector<int64_t>* divisors);
  void ParseResultTypes(Function& function);
  Region ParseRegion(std::span<const NamedType> entry_arguments, bool implicit_yield = false);
  void ParseLabelledBlock(Region& region);
  // So that branches go forward and all blocks are reached; fails when they form a loop.
  void SortBlocks(Region& region);
  void ParseOperations(Block& block);
  Operation ParseOperation();
  std::vector<ResultName> ParseResultNames();
  OpCode ParseOpName();
  void DefineResults(std::span<const ResultName> names, std::vector<Type> types, Operation& op);
  int ParseLocation();  // Python line, 0 when there is none
  void ResolveSuccessors(Region& region);

  // Names.
  ValueId NewValue(Type type);
  void Define(std::string_view name, Binding binding);
  void DefineArguments(std::span<const NamedType> arguments, Block& block);
  ValueId Use();
  const Type& TypeOf(ValueId value) const { return function_->values[value]; }

  // Types and attributes.
  Type ParseType();
  Type ParseBangType();
  Type ParseTensor();
  Type ParsePointerBody();     // <f32>
  Type ParseDescriptorBody();  // <tensor<16xf32>>
  Elem ParseScalar();
  std::vector<Type> ParseTypes();            // a, b
  std::vector<Type> ParseTypesInBrackets();  // (a, b), ()
  std::vector<Type> ParseResultList();       // a | (a, b) | ()
  void ParseAttributes(Operation* op);       // optional {…}; null: ignored
  void ParseProperties(Operation& op);       // optional <{…}>
  std::optional<Attribute> ParseAttributeValue();
  std::optional<Attribute> ParseHint();
  std::vector<int64_t> ParseArray();

  // Pieces of operations.
  std::vector<Type> ParseBody(Operation& op);  // everything behind the name; result types
  void ParseOperands(Operation& op);           // %a, %b: none when the next token is no value
  void ParseIndices(Operation& op);            // [%a, %b]
  void ParseFlags(Operation& op);              // overflow<…>, fastmath<…>, {…}
  void ParseWordAttribute(Operation& op, std::string_view name);  // word, kept as string attribute
  void ParseMemoryHints(Operation& op);
  void ExpectCount(const Operation& op, size_t low, size_t high) const;
  void CheckOperand(const Operation& op, size_t index, const Type& printed) const;
  void CheckOperands(const Operation& op, std::span<const Type> printed) const;
  void CheckTypeList(Operation& op);  // : a, b

  // Operations by form; each returns the result types.
  std::vector<Type> ParseArith(Operation& op, size_t arity);
  std::vector<Type> ParseCompare(Operation& op);
  std::vector<Type> ParseSelect(Operation& op);
  std::vector<Type> ParseClamp(Operation& op);
  std::vector<Type> ParseCast(Operation& op, bool arith);
  std::vector<Type> ParseConstant(Operation& op);
  std::vector<Type> ParseTypeOnly(Operation& op);
  std::vector<Type> ParseProgramInfo(Operation& op);
  std::vector<Type> ParseArrowForm(Operation& op, size_t low, size_t high, size_t results);
  std::vector<Type> ParseUnsplat(Operation& op);
  std::vector<Type> ParseGather(Operation& op);
  std::vector<Type> ParseExtern(Operation& op);
  std::vector<Type> ParseInlineAsm(Operation& op);
  std::vector<Type> ParseAddPtr(Operation& op);
  std::vector<Type> ParseLoad(Operation& op);
  std::vector<Type> ParseStore(Operation& op);
  std::vector<Type> ParseAtomic(Operation& op);
  std::vector<Type> ParseMakeDescriptor(Operation& op);
  std::vector<Type> ParseDescriptorAccess(Operation& op);
  std::vector<Type> ParseDot(Operation& op);
  std::vector<Type> ParseDotScaled(Operation& op);
  std::vector<Type> ParsePrint(Operation& op);
  std::vector<Type> ParseAssert(Operation& op);
  std::vector<Type> ParseCall(Operation& op);
  std::vector<Type> ParseFor(Operation& op);
  std::vector<Type> ParseIf(Operation& op);
  std::vector<Type> ParseWhile(Operation& op);
  std::vector<NamedType> ParseInits(Operation& op);  // (%name = %value, …); types of the values
  std::vector<Type> ParseGenericForm(Operation& op);
  std::vector<Type> ParseTerminator(Operation& op);
  Successor ParseSuccessor();

  Lexer lexer_;
  LocationTable locations_;
  Function* function_ = nullptr;
  std::unordered_map<std::string_view, Binding> names_;
  std::vector<std::string_view> defined_;  // names in order of definition; a region's end drops its own
  Labels* labels_ = nullptr;               // of the innermost region
  int depth_ = 0;                          // of regions
};

}  // namespace tritogen::tile
