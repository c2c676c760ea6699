#include "tile/parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/ttir_text.h"
#include "tile/tile.h"

namespace tritogen::tile {
namespace {

// A kernel with the given body, which may use %p, %n, %f and %d.
std::string Kernel(std::string_view body) {
  return fmt::format(
      "module {{\n"
      "  tt.func public @kernel(%p: !tt.ptr<f32>, %n: i32, %f: f32, %d: !tt.tensordesc<tensor<16x32xsi32>>, "
      "%s0: i32, %s1: i32, %s2: i64, %s3: i64) {{\n"
      "{}\n"
      "    tt.return\n"
      "  }}\n"
      "}}\n",
      body);
}

const Operation& First(const Module& module) {
  return module.kernel().body.blocks.front().operations.front();
}

// Parses one operation as the whole body.
Operation ParseOne(std::string_view text) {
  return First(ParseTtir(Kernel(text)));
}

// The operation behind some that make its operands.
Operation ParseLast(std::string_view body) {
  Module module = ParseTtir(Kernel(body));
  const auto& operations = module.kernel().body.blocks.front().operations;
  return operations[operations.size() - 2];
}

Type ResultType(std::string_view body) {
  Module module = ParseTtir(Kernel(body));
  const auto& operations = module.kernel().body.blocks.front().operations;
  return module.kernel().values[operations[operations.size() - 2].results.at(0)];
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> GoldenFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TRITOGEN_SOURCE_DIR "/tests/golden/ttir")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void CollectCodes(const Region& region, std::set<OpCode>& codes) {
  for (const Block& block : region.blocks) {
    for (const Operation& op : block.operations) {
      codes.insert(op.code);
      for (const Region& inner : op.regions) CollectCodes(inner, codes);
    }
  }
}

TEST(Golden, EveryKernelParsesAndEveryOperationOccurs) {
  std::set<OpCode> seen;
  for (const auto& path : GoldenFiles()) {
    SCOPED_TRACE(path.filename().string());
    try {
      Module module = ParseTtir(ReadFile(path));
      for (const Function& function : module.functions) CollectCodes(function.body, seen);
    } catch (const TtirError& error) {
      ADD_FAILURE() << error.what();
    }
  }
  // The language does not make these; Constructs.RareOperations reads them.
  const std::set<OpCode> rare = {OpCode::kCeilDivSI,    OpCode::kCeilDivUI, OpCode::kFloorDivSI,
                                 OpCode::kNegF,         OpCode::kTanh,      OpCode::kPoison,
                                 OpCode::kArithBitcast, OpCode::kIndexCast};
  for (int code = 0; code <= static_cast<int>(OpCode::kAssume); ++code) {
    const auto op = static_cast<OpCode>(code);
    EXPECT_NE(seen.contains(op), rare.contains(op)) << OpName(op);
  }
}

void ExpectSameShape(const Region& a, const Region& b) {
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    ASSERT_EQ(a.blocks[i].operations.size(), b.blocks[i].operations.size());
    EXPECT_EQ(a.blocks[i].arguments, b.blocks[i].arguments);
    for (size_t k = 0; k < a.blocks[i].operations.size(); ++k) {
      const Operation &x = a.blocks[i].operations[k], &y = b.blocks[i].operations[k];
      EXPECT_EQ(x.code, y.code);
      EXPECT_EQ(x.operands, y.operands);
      EXPECT_EQ(x.results, y.results);
      EXPECT_EQ(x.attributes, y.attributes);
      ASSERT_EQ(x.regions.size(), y.regions.size());
      for (size_t r = 0; r < x.regions.size(); ++r) ExpectSameShape(x.regions[r], y.regions[r]);
    }
  }
}

// Names and locations are all that differs between the two texts of a kernel.
TEST(Golden, LocationsChangeNothingButLines) {
  for (const auto& path : GoldenFiles()) {
    if (path.stem().extension() == ".loc") continue;
    SCOPED_TRACE(path.filename().string());
    const std::string located_text = ReadFile(std::filesystem::path(path).replace_extension(".loc.ttir"));
    Module plain = ParseTtir(ReadFile(path)), located = ParseTtir(located_text),
           stripped = ParseTtir(StripLocations(located_text));
    ASSERT_EQ(plain.functions.size(), located.functions.size());
    for (size_t i = 0; i < plain.functions.size(); ++i) {
      EXPECT_EQ(plain.functions[i].values, located.functions[i].values);
      ExpectSameShape(plain.functions[i].body, located.functions[i].body);
      ExpectSameShape(plain.functions[i].body, stripped.functions[i].body);
    }
  }
}

TEST(Golden, LinesAreThoseOfTheKernelsFile) {
  const std::string source = ReadFile(TRITOGEN_SOURCE_DIR "/tests/kernels/programs.py");
  std::vector<std::string> lines{""};
  std::stringstream stream(source);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  // tl.softmax is inlined from Triton's own library: the line that counts is the caller's.
  Module module = ParseTtir(ReadFile(TRITOGEN_SOURCE_DIR "/tests/golden/ttir/softmax_builtin.loc.ttir"));
  for (const Operation& op : module.kernel().body.blocks.front().operations) {
    if (op.code != OpCode::kReduce && op.code != OpCode::kStore) continue;
    ASSERT_LT(op.line, static_cast<int>(lines.size()));
    EXPECT_NE(lines[op.line].find("tl.softmax"), std::string::npos) << OpName(op.code) << " at " << op.line;
  }
}

TEST(Constructs, KernelAndParameters) {
  Module module = ParseTtir(ReadFile(TRITOGEN_SOURCE_DIR "/tests/golden/ttir/vector_add.ttir"));
  const Function& kernel = module.kernel();
  EXPECT_EQ(kernel.name, "vector_add");
  ASSERT_EQ(kernel.parameters.size(), 4u);
  EXPECT_EQ(kernel.values[kernel.parameters[0]], (Type{.elem = Elem::kPtr, .pointee = Elem::kF32}));
  EXPECT_EQ(kernel.values[kernel.parameters[3]], (Type{.elem = Elem::kI32}));
  EXPECT_EQ(kernel.body.blocks.front().operations.back().code, OpCode::kReturn);
}

TEST(Constructs, CallsAndQuotedSymbols) {
  Module module = ParseTtir(R"(module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %0:2 = tt.call @"a (b)\22"(%n) : (i32) -> (i32, f32)
    %1 = arith.addi %0#0, %n : i32
    tt.call @side.effect(%p, %1) : (!tt.ptr<f32>, i32) -> ()
    tt.return
  }
  tt.func private @"a (b)\22"(%x: i32) -> (i32, f32) attributes {noinline = true} {
    %0 = arith.sitofp %x : i32 to f32
    tt.return %x, %0 : i32, f32
  }
  tt.func private @side.effect(%p: !tt.ptr<f32>, %n: i32) { tt.return }
})");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_EQ(module.functions[1].name, "a (b)\"");
  EXPECT_EQ(First(module).Attr<std::string>("callee"), "a (b)\"");
  EXPECT_EQ(First(module).results.size(), 2u);
  EXPECT_FALSE(module.functions[2].is_public);
}

TEST(Constructs, ForWithCarriedValuesAndHints) {
  Operation loop = ParseOne(R"(
    %0:2 = scf.for %i = %n to %n step %n iter_args(%a = %f, %b = %n) -> (f32, i32)  : i32 {
      scf.yield %a, %i : f32, i32
    } {tt.num_stages = 3 : i32, tt.flatten})");
  EXPECT_EQ(loop.operands.size(), 5u);
  EXPECT_EQ(loop.regions[0].blocks[0].arguments.size(), 3u);
  EXPECT_EQ(loop.results.size(), 2u);
  EXPECT_TRUE(loop.attributes.empty());
}

TEST(Constructs, YieldIsAddedWhereNoneIsPrinted) {
  Operation loop = ParseOne("scf.for %i = %n to %n step %n  : i32 {\n}");
  EXPECT_EQ(loop.regions[0].blocks[0].operations.back().code, OpCode::kYield);
  Operation branch = ParseLast("%c = arith.constant true\nscf.if %c {\n}");
  EXPECT_EQ(branch.regions[0].blocks[0].operations.back().code, OpCode::kYield);
  EXPECT_TRUE(branch.regions[1].blocks.empty());
}

TEST(Constructs, WhileMayReuseNamesAndChangeTypes) {
  Operation loop = ParseOne(R"(
    %0 = scf.while (%a = %n, %b = %f) : (i32, f32) -> f32 {
      %c = arith.cmpi slt, %a, %n : i32
      scf.condition(%c) %b : f32
    } do {
    ^bb0(%b: f32):
      scf.yield %n, %b : i32, f32
    } attributes {tt.num_stages = 2 : i32})");
  EXPECT_EQ(loop.regions.size(), 2u);
  EXPECT_EQ(loop.regions[0].blocks[0].arguments.size(), 2u);
  EXPECT_EQ(loop.regions[1].blocks[0].arguments.size(), 1u);
}

TEST(Constructs, BlocksAreSortedAndUnreachableOnesDropped) {
  Module module = ParseTtir(R"(module {
  tt.func public @k(%n: i32) {
    %c = arith.cmpi slt, %n, %n : i32
    cf.cond_br %c, ^bb1(%n : i32), ^bb2
  ^bb1(%a: i32):  // 2 preds: ^bb0, ^bb2
    tt.return
  ^bb9:
    cf.br ^bb9
  ^bb2:
    cf.br ^bb1(%n : i32)
  }
})");
  const auto& blocks = module.kernel().body.blocks;
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].operations.back().successors[0].block, 2);
  EXPECT_EQ(blocks[0].operations.back().successors[1].block, 1);
  EXPECT_EQ(blocks[1].operations.back().successors[0].block, 2);
  EXPECT_EQ(blocks[2].arguments.size(), 1u);
}

TEST(Constructs, FlagsAreIgnoredAndHintsKept) {
  EXPECT_TRUE(ParseOne("%0 = arith.addi %n, %n overflow<nsw, nuw> : i32").attributes.empty());
  EXPECT_TRUE(ParseOne("%0 = arith.addf %f, %f fastmath<contract> : f32").attributes.empty());
  const Operation hinted = ParseOne(
      "%0 = arith.muli %n, %n {tt.contiguity = dense<8> : tensor<3xi32>, tt.divisibility = "
      "dense<[8, 4]> : tensor<2xi32>, tt.other = dense<1> : tensor<1xi32>} : i32");
  EXPECT_EQ(hinted.attributes.size(), 2u);
  EXPECT_EQ(hinted.Attr<std::vector<int64_t>>("tt.contiguity"), (std::vector<int64_t>{8, 8, 8}));
  EXPECT_EQ(hinted.Attr<std::vector<int64_t>>("tt.divisibility"), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(ParseOne("%0 = arith.constant {tt.divisibility = 8 : i32} 3 : i32").attributes.size(), 1u);
}

TEST(Constructs, SelectTakesOneOrTwoTypes) {
  EXPECT_EQ(ResultType("%c = arith.constant true\n%0 = arith.select %c, %f, %f : f32"),
            (Type{.elem = Elem::kF32}));
  EXPECT_EQ(
      ResultType("%c = arith.constant dense<true> : tensor<4xi1>\n%v = tt.splat %f : f32 -> tensor<4xf32>\n"
                 "%0 = arith.select %c, %v, %v : tensor<4xi1>, tensor<4xf32>"),
      (Type{.elem = Elem::kF32, .shape = {4}}));
}

TEST(Constructs, LoadsTakeTheirTypesFromThePointer) {
  constexpr std::string_view kSetup =
      "%q = tt.splat %p : !tt.ptr<f32> -> tensor<4x2x!tt.ptr<f32>>\n"
      "%m = arith.constant dense<true> : tensor<4x2xi1>\n"
      "%o = arith.constant dense<0.0> : tensor<4x2xf32>\n";
  EXPECT_EQ(ResultType(fmt::format("{}%0 = tt.load %q, %m, %o : tensor<4x2x!tt.ptr<f32>>", kSetup)),
            (Type{.elem = Elem::kF32, .shape = {4, 2}}));
  Operation load =
      ParseLast(fmt::format("{}%0 = tt.load %q, %m cacheModifier = cg evictionPolicy = evict_last "
                            "{{isVolatile = true}} : tensor<4x2x!tt.ptr<f32>>",
                            kSetup));
  EXPECT_EQ(load.Attr<std::string>("cacheModifier"), "cg");
  EXPECT_EQ(load.Attr<std::string>("evictionPolicy"), "evict_last");
  EXPECT_TRUE(load.Attr<bool>("isVolatile"));
}

TEST(Constructs, DescriptorsKeepTheSignOfIntegers) {
  Module module = ParseTtir(
      Kernel("%0 = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<tensor<16x32xsi32>> -> tensor<16x32xi32>"));
  const Type& type = module.kernel().values[module.kernel().parameters[3]];
  EXPECT_EQ(type.elem, Elem::kDesc);
  EXPECT_EQ(type.pointee, Elem::kI32);
  EXPECT_EQ(type.desc_sign, 's');
  EXPECT_EQ(TypeName(type), "!tt.tensordesc<tensor<16x32xsi32>>");
}

TEST(Constructs, DotDefaultsAreExplicit) {
  constexpr std::string_view kSetup = "%a = arith.constant dense<1.0> : tensor<16x16xf32>\n";
  Operation plain = ParseLast(fmt::format(
      "{}%0 = tt.dot %a, %a, %a : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>", kSetup));
  EXPECT_EQ(plain.Attr<std::string>("inputPrecision"), "ieee");
  EXPECT_EQ(plain.Attr<int64_t>("maxNumImpreciseAcc", -1), 0);
  Operation tf32 = ParseLast(
      fmt::format("{}%0 = tt.dot %a, %a, %a, inputPrecision = tf32 {{maxNumImpreciseAcc = 8 : i32}} : "
                  "tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>",
                  kSetup));
  EXPECT_EQ(tf32.Attr<std::string>("inputPrecision"), "tf32");
  EXPECT_EQ(tf32.Attr<int64_t>("maxNumImpreciseAcc"), 8);
}

TEST(Constructs, ReduceOfSeveralOperands) {
  Operation reduce = ParseLast(R"(
    %a = arith.constant dense<1.0> : tensor<4x8xf32>
    %b = arith.constant dense<1> : tensor<4x8xi32>
    %0:2 = "tt.reduce"(%a, %b) <{axis = 1 : i32}> ({
    ^bb0(%x: f32, %i: i32, %y: f32, %j: i32):
      tt.reduce.return %y, %i : f32, i32
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xi32>))");
  EXPECT_EQ(reduce.Attr<int64_t>("axis", -1), 1);
  EXPECT_EQ(reduce.regions[0].blocks[0].arguments.size(), 4u);
}

TEST(Constructs, InlineAssemblyIsKeptForTheExecutor) {
  Operation op = ParseOne(
      R"(%0:2 = tt.elementwise_inline_asm "mov \22$0\22;\0A" {constraints = "=r,=r,r", packed_element = 4 : i32, pure = false} %n : i32 -> i32, i32)");
  EXPECT_EQ(op.Attr<std::string>("asm_string"), "mov \"$0\";\n");
  EXPECT_EQ(op.Attr<int64_t>("packed_element"), 4);
  EXPECT_EQ(op.results.size(), 2u);
}

TEST(Constructs, PrintsMayHaveNoOperands) {
  EXPECT_EQ(ParseOne(R"(tt.print " only" {hex = false, isSigned = array<i32>})").Attr<std::string>("prefix"),
            " only");
  EXPECT_EQ(ParseOne(R"(tt.print " v: " {hex = true, isSigned = array<i32: 0, 1>} : %f, %n : f32, i32)")
                .operands.size(),
            2u);
}

TEST(Constructs, RareOperations) {
  EXPECT_EQ(ParseOne("%0 = arith.ceildivsi %n, %n : i32").code, OpCode::kCeilDivSI);
  EXPECT_EQ(ParseOne("%0 = arith.ceildivui %n, %n : i32").code, OpCode::kCeilDivUI);
  EXPECT_EQ(ParseOne("%0 = arith.floordivsi %n, %n : i32").code, OpCode::kFloorDivSI);
  EXPECT_EQ(ParseOne("%0 = arith.negf %f : f32").code, OpCode::kNegF);
  EXPECT_EQ(ParseOne("%0 = math.tanh %f : f32").code, OpCode::kTanh);
  EXPECT_EQ(ParseOne("%0 = ub.poison : tensor<4xf32>").code, OpCode::kPoison);
  EXPECT_EQ(ParseOne("%0 = arith.bitcast %n : i32 to i32").code, OpCode::kArithBitcast);
  EXPECT_EQ(ResultType("%0 = arith.index_cast %n : i32 to index"), (Type{.elem = Elem::kI64}));
}

TEST(Constructs, AliasesAndModuleAttributesAreSkipped) {
  Module module = ParseTtir(
      "#loop_licm = #llvm.loop_licm<disable = true>\n"
      "#loop_annotation = #llvm.loop_annotation<licm = #loop_licm>\n"
      "module attributes {a.b = \"}\", c.d = {e = [1, 2]}} {\n"
      "  tt.func public @k(%n: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {\n"
      "    scf.for %i = %n to %n step %n  : i32 {\n"
      "    } {llvm.loop_annotation = #loop_annotation}\n"
      "    tt.return\n"
      "  }\n"
      "}\n");
  EXPECT_EQ(First(module).code, OpCode::kFor);
}

TEST(Lines, WithoutLocationsTheyAreThoseOfTheText) {
  Operation op = ParseOne("\n\n%0 = arith.addi %n, %n : i32");
  EXPECT_EQ(op.line, 5);
  EXPECT_EQ(op.ttir_line, 5);
}

int LineOf(std::string_view location, std::string_view aliases = "") {
  Module module = ParseTtir(fmt::format(
      "#loc = loc(\"kernel.py\":10:0)\nmodule {{\n  tt.func public @k(%n: i32 loc(\"n\"(#loc))) {{\n"
      "    %0 = arith.addi %n, %n : i32 loc({})\n    tt.return loc(#loc)\n  }} loc(#loc)\n}} loc(#loc)\n{}",
      location, aliases));
  return First(module).line;
}

TEST(Lines, LocationsOfEveryForm) {
  EXPECT_EQ(LineOf("\"kernel.py\":12:3"), 12);
  EXPECT_EQ(LineOf("\"name\"(\"kernel.py\":13:3)"), 13);
  EXPECT_EQ(LineOf("#loc7", "#loc7 = loc(\"x\"(#loc9))\n#loc9 = loc(\"kernel.py\":14:1)\n"), 14);
  EXPECT_EQ(LineOf("fused<\"tag\">[unknown, \"kernel.py\":15:1]"), 15);
  // The place in the kernel's file wins over the library's, and the callee over the caller.
  EXPECT_EQ(LineOf("callsite(\"standard.py\":300:1 at \"kernel.py\":16:1)"), 16);
  EXPECT_EQ(LineOf("callsite(\"kernel.py\":17:1 at \"kernel.py\":99:1)"), 17);
  EXPECT_EQ(LineOf("callsite(\"standard.py\":18:1 at unknown)"), 18);
}

TEST(Lines, BrokenLocationsFallBackToTheText) {
  EXPECT_EQ(LineOf("unknown"), 4);
  EXPECT_EQ(LineOf("#loc404"), 4);
  EXPECT_EQ(LineOf("#loc7", "#loc7 = loc(callsite(#loc8 at #loc8))\n#loc8 = loc(\"x\"(#loc7))\n"), 4);
  std::string nested = "unknown";
  for (int i = 0; i < 1000; ++i) nested = fmt::format("\"a\"({})", nested);
  EXPECT_EQ(LineOf(nested), 4);
}

}  // namespace
}  // namespace tritogen::tile
