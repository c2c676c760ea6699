// Malformed TTIR: each text is refused with its line and a reason, and nothing worse happens.
#include "tile/verify_module.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tile/tile.h"

namespace tritogen::tile {
namespace {

constexpr std::string_view kHead =
    "module {\n"
    "  tt.func public @kernel(%p: !tt.ptr<f32>, %n: i32, %f: f32, %l: i64) {\n"
    "    %c = arith.constant true\n"
    "    %v = arith.constant dense<1.0> : tensor<4x8xf32>\n"
    "    %i = arith.constant dense<1> : tensor<4x8xi32>\n"
    "    %m = arith.constant dense<true> : tensor<4x8xi1>\n"
    "    %q = tt.splat %p : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>\n"
    "    %d = tt.make_tensor_descriptor %p, [%n, %n], [%l, %l] : <f32>, <tensor<1x32xf32>>\n";
constexpr int kFirstLine = 9;  // of what follows kHead
constexpr std::string_view kTail = "\n    tt.return\n  }\n}\n";

struct Broken {
  std::string_view body;
  std::string_view reason;  // part of the message
  int line = kFirstLine;
  bool unsupported = false;
};

void ExpectRefused(const std::string& text, const Broken& broken) {
  SCOPED_TRACE(std::string(broken.body));
  try {
    ParseTtir(text);
    ADD_FAILURE() << "was accepted";
  } catch (const TtirError& error) {
    EXPECT_NE(std::string_view(error.what()).find(broken.reason), std::string_view::npos) << error.what();
    EXPECT_EQ(error.line(), broken.line) << error.what();
    EXPECT_EQ(error.unsupported(), broken.unsupported) << error.what();
  }
}

void ExpectAllRefused(std::initializer_list<Broken> cases) {
  for (const Broken& broken : cases) ExpectRefused(fmt::format("{}{}{}", kHead, broken.body, kTail), broken);
}

TEST(Refused, Names) {
  ExpectAllRefused({
      {"%0 = arith.addi %n, %zzz : i32", "%zzz is not defined"},
      {"%n = arith.addi %n, %n : i32", "%n is defined twice"},
      {"%0:2 = arith.addi %n, %n : i32", "1 results, but 2 are named"},
      {"%0 = tt.store %p, %f : !tt.ptr<f32>", "0 results, but 1 are named"},
      {"%0:4000 = arith.addi %n, %n : i32", "result pack"},
      {"%0 = arith.addi %n#1, %n : i32", "%n#1 does not exist"},
      {"%0 = arith.addi %n#99999999999999999999, %n : i32", "does not exist"},
      {"scf.if %c {\n%0 = arith.addi %n, %n : i32\n}\n%1 = arith.addi %0, %n : i32", "%0 is not defined",
       kFirstLine + 3},
      {"foo.bar %n : i32", "unknown operation 'foo.bar'", kFirstLine, true},
      {"%0 = arith.mului_extended %n, %n : i32", "unknown operation", kFirstLine, true},
      {"\"arith.addi\"(%n, %n) : (i32, i32) -> i32", "form that is not known", kFirstLine, true},
  });
}

TEST(Refused, Types) {
  ExpectAllRefused({
      {"%0 = arith.addi %n, %n : i64", "operand 0 is i32, but the text says i64"},
      {"%0 = arith.addi %f, %f : f32", "not defined for f32"},
      {"%0 = arith.addf %n, %n : i32", "not defined for i32"},
      {"%0 = ub.poison : tensor<3xf32>", "power of two"},
      {"%0 = ub.poison : tensor<0xf32>", "power of two"},
      {"%0 = ub.poison : tensor<2048x1024xf32>", "more than 2^20 elements"},
      {"%0 = ub.poison : tensor<99999999999999999999xf32>", "larger than 2^20"},
      {"%0 = ub.poison : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>", "more than 20 dimensions"},
      {"%0 = ub.poison : !tt.tensordesc<tensor<1x1x1x1x1x1x1x1x1xf32>>",
       "descriptor has more than 8 dimensions"},
      {"%0 = ub.poison : tensor<f32>", "static dimensions"},
      {"%0 = ub.poison : tensor<4xf80>", "unknown type 'f80'", kFirstLine, true},
      {"%0 = ub.poison : tensor<4xsi32>", "sign"},
      {"%0 = ub.poison : tensor<4xf32, #blocked>", "encodings", kFirstLine, true},
      {"%0 = ub.poison : !tt.ptr<tensor<4xf32>>", "block pointers", kFirstLine, true},
      {"%0 = ub.poison : !tt.ptr<!tt.ptr<f32>>", "pointers to pointers", kFirstLine, true},
      {"%0 = ub.poison : !tt.ptr<f32, 3>", "global memory", kFirstLine, true},
      {"%0 = arith.cmpi foo, %n, %n : i32", "predicate = foo", kFirstLine, true},
      {"%0 = arith.select %m, %f, %f : tensor<4x8xi1>, f32", "operand 0"},
      {"%0 = arith.extf %f : f32 to f16", "no cast from f32 to f16"},
      {"%0 = arith.extsi %n : i32 to tensor<4xi64>", "no cast"},
      {"%0 = tt.bitcast %f : f32 -> i64", "no cast"},
      {"%0 = tt.bitcast %p : !tt.ptr<f32> -> i64", "no cast"},
      {"%0 = tt.fp_to_fp %f : f32 -> f8E5M2", "rounding"},
      {"%0 = arith.constant 1 : !tt.ptr<f32>", "expected a type"},
      {"%0 = arith.constant dense<1> : i32", "no tensor of numbers"},
      {"%0 = arith.constant dense<[1, 2, 3]> : tensor<4xi32>", "shape of its type"},
  });
}

TEST(Refused, Shapes) {
  ExpectAllRefused({
      {"%0 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<8xi32>", "must be tensor<16xi32>"},
      {"%0 = tt.make_range {end = 0 : i32, start = 0 : i32} : tensor<8xi32>", "strange range"},
      {"%0 = tt.make_range : tensor<8xi32>", "needs an integer named 'start'"},
      {"%0 = tt.splat %v : tensor<4x8xf32> -> tensor<4x8xf32>", "a scalar and a tensor"},
      {"%0 = tt.unsplat %v : tensor<4x8xf32>", "one element"},
      {"%0 = tt.broadcast %v : tensor<4x8xf32> -> tensor<8x8xf32>", "does not broadcast"},
      {"%0 = tt.expand_dims %v {axis = 3 : i32} : tensor<4x8xf32> -> tensor<4x8x1xf32>", "axis"},
      {"%0 = tt.expand_dims %v {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4x8x1xf32>",
       "must be tensor<4x1x8xf32>"},
      {"%0 = tt.reshape %v : tensor<4x8xf32> -> tensor<16xf32>", "keep the elements"},
      {"%0 = tt.trans %v {order = array<i32: 1, 1>} : tensor<4x8xf32> -> tensor<8x4xf32>", "permutation"},
      {"%0 = tt.trans %v {order = array<i32: 1, 5>} : tensor<4x8xf32> -> tensor<8x4xf32>", "permutation"},
      {"%0 = tt.join %v, %v : tensor<4x8xf32> -> tensor<4x8x4xf32>", "must be tensor<4x8x2xf32>"},
      {"%0, %1 = tt.split %v : tensor<4x8xf32> -> tensor<4xf32>", "last dimension"},
      {"%0 = tt.cat %v, %v : tensor<4x8xf32> -> tensor<8x8xf32>", "rank 1"},
      {"%0 = tt.gather %v[%i] {axis = 2 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>",
       "axis"},
      {"%0 = tt.gather %v[%v] {axis = 1 : i32} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>",
       "integer indices"},
      {"%0 = tt.histogram %i : tensor<4x8xi32> -> tensor<8xi32>", "rank 1"},
  });
}

TEST(Refused, Memory) {
  ExpectAllRefused({
      {"%0 = tt.load %n : i32", "must be pointers"},
      {"%0 = tt.load %q, %c : tensor<4x8x!tt.ptr<f32>>", "operand 1 is i1"},
      {"%0 = tt.load %q, %m, %i : tensor<4x8x!tt.ptr<f32>>", "operand 2"},
      {"%0 = tt.load %p {isVolatile = 3 : i32} : !tt.ptr<f32>", "a bool named 'isVolatile'"},
      {"tt.store %q, %i : tensor<4x8x!tt.ptr<f32>>", "operand 1"},
      {"%0 = tt.addptr %q, %n : tensor<4x8x!tt.ptr<f32>>, i32", "offsets"},
      {"%0 = tt.addptr %p, %f : !tt.ptr<f32>, f32", "offsets"},
      {"%0 = tt.atomic_rmw add, relaxed, gpu, %p, %f : (!tt.ptr<f32>, f32) -> f32",
       "not defined for these values"},
      {"%0 = tt.atomic_rmw foo, relaxed, gpu, %p, %f : (!tt.ptr<f32>, f32) -> f32", "kind = foo", kFirstLine,
       true},
      {"%0 = tt.atomic_rmw fadd, weak, gpu, %p, %f : (!tt.ptr<f32>, f32) -> f32", "sem = weak", kFirstLine,
       true},
      {"%0 = tt.atomic_cas relaxed, gpu, %p, %f, %n : (!tt.ptr<f32>, f32, i32) -> f32", "operand 2"},
      {"%0 = tt.make_tensor_descriptor %p, [%n], [%l, %l] : <f32>, <tensor<4x8xf32>>", "4 operands"},
      {"%0 = tt.make_tensor_descriptor %p, [%n], [%l] : <f32>, <tensor<8xf16>>", "block's elements"},
      {"%0 = tt.descriptor_load %d[%n] : !tt.tensordesc<tensor<1x32xf32>> -> tensor<1x32xf32>", "2 operands"},
      {"%0 = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<tensor<1x32xf32>> -> tensor<64xf32>",
       "does not fit"},
      {"tt.descriptor_store %d[%n, %l], %v : !tt.tensordesc<tensor<1x32xf32>>, tensor<4x8xf32>", "operand 2"},
      {"tt.descriptor_reduce inc, %d[%n, %n], %v : !tt.tensordesc<tensor<1x32xf32>>, tensor<4x8xf32>",
       "does not fit"},
      {"%0 = tt.descriptor_gather %d[%i, %n] : (!tt.tensordesc<tensor<1x32xf32>>, tensor<4x8xi32>, i32) -> "
       "tensor<4x32xf32>",
       "rank 1"},
  });
}

TEST(Refused, Collectives) {
  constexpr std::string_view kReduce = "%0 = \"tt.reduce\"(%v) ";
  constexpr std::string_view kType = " : (tensor<4x8xf32>) -> tensor<4xf32>";
  const std::string range =
      fmt::format("{}<{{axis = 2 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\ntt.reduce.return %a : f32\n}}){}",
                  kReduce, kType);
  const std::string arguments = fmt::format(
      "{}<{{axis = 1 : i32}}> ({{\n^bb0(%a: f32):\ntt.reduce.return %a : f32\n}}){}", kReduce, kType);
  const std::string result =
      fmt::format("{}<{{axis = 1 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\ntt.reduce.return %n : i32\n}}){}",
                  kReduce, kType);
  const std::string memory = fmt::format(
      "{}<{{axis = 1 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\n%x = tt.load %p : !tt.ptr<f32>\ntt.reduce.return "
      "%x : f32\n}}){}",
      kReduce, kType);
  const std::string terminator = fmt::format(
      "{}<{{axis = 1 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\nscf.yield %a : f32\n}}){}", kReduce, kType);
  auto map = [](std::string_view blocks) {
    return fmt::format(
        "%0 = \"tt.map_elementwise\"(%v) <{{pack = 1 : i32}}> ({{\n^bb0(%a: f32):\n{}\n}}) : "
        "(tensor<4x8xf32>) -> tensor<4x8xf32>",
        blocks);
  };
  const std::string branch_type =
      map("cf.br ^bb1(%n : i32)\n^bb1(%b: f32):\ntt.map_elementwise.return %b : f32");
  const std::string branch_loop = map("cf.br ^bb1\n^bb1:\ncf.br ^bb1");
  const std::string undominated =
      map("cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n%x = arith.addf %a, %a : f32\ncf.br ^bb2\n^bb2:\n"
          "tt.map_elementwise.return %x : f32");
  const std::string too_early =
      map("cf.br ^bb2\n^bb1:\n%x = arith.addf %a, %a : f32\ntt.map_elementwise.return %x : f32\n^bb2:\n"
          "%y = arith.addf %x, %a : f32\ncf.br ^bb1");
  ExpectAllRefused({
      {branch_type, "passes i32 for f32", kFirstLine + 2},
      {branch_loop, "form a loop", kFirstLine + 5, true},
      {undominated, "may not have run", kFirstLine + 7},
      {too_early, "may not have run", kFirstLine + 7},
      {range, "axis out of range"},
      {arguments, "a region has wrong arguments"},
      {result, "passes i32 for f32", kFirstLine + 2},
      {memory, "not supported inside", kFirstLine + 2, true},
      {terminator, "wrong place", kFirstLine + 2},
      {"%0 = \"tt.map_elementwise\"(%v) <{pack = 1000000 : i32}> ({\n}) : (tensor<4x8xf32>) -> "
       "tensor<4x8xf32>",
       "pack"},
      {"%0 = \"tt.scan\"() <{axis = 0 : i32}> ({\n}) : () -> tensor<4x8xf32>", "needs an operand"},
      {"%0 = tt.dot %v, %v, %v : tensor<4x8xf32> * tensor<4x8xf32> -> tensor<4x8xf32>",
       "is no tensor<4x8xf32>"},
      {"%a = arith.constant dense<1> : tensor<8x8xi8>\n%s = arith.constant dense<1.0> : tensor<8x8xf32>\n"
       "%0 = tt.dot %a, %a, %s : tensor<8x8xi8> * tensor<8x8xi8> -> tensor<8x8xf32>",
       "element types", kFirstLine + 2},
      {"%s = arith.constant dense<1.0> : tensor<8x8xf32>\n"
       "%0 = tt.dot %s, %s, %s, inputPrecision = fp4 : tensor<8x8xf32> * tensor<8x8xf32> -> tensor<8x8xf32>",
       "inputPrecision = fp4", kFirstLine + 1, true},
  });
}

TEST(Refused, ControlFlow) {
  ExpectAllRefused({
      {"scf.if %n {\n}", "operand 0 is i32"},
      {"%0 = scf.if %c -> (f32) {\nscf.yield %f : f32\n}", "else branch"},
      {"%0 = scf.if %c -> (f32) {\nscf.yield %f : f32\n} else {\n}", "passes 0 values, not 1",
       kFirstLine + 2},
      {"scf.for %k = %f to %f step %f : f32 {\n}", "bounds must be scalar integers"},
      {"%0 = scf.for %k = %n to %n step %n iter_args(%a = %f) -> (f32) : i32 {\n}", "passes 0 values, not 1"},
      {"scf.while : () -> () {\nscf.condition(%c)\n} do {\n}", "does not end in a terminator"},
      {"scf.while : () -> () {\nscf.yield\n} do {\nscf.yield\n}", "wrong place", kFirstLine + 1},
      {"scf.if %c {\ntt.return\n}", "wrong place", kFirstLine + 1},
      {"scf.if %c {\ncf.br ^bb1\n^bb1:\nscf.yield\n}", "branches inside", kFirstLine, true},
      {"scf.condition(%c)", "an operation follows", kFirstLine + 1},
      {"cf.br ^bb7", "an operation follows", kFirstLine + 1},
      {"cf.br ^bb7\n^bb1:", "^bb7 does not exist"},
      {"cf.br ^bb1\n^bb1:\ntt.return\n^bb1:", "defined twice", kFirstLine + 3},
      {"cf.br ^bb1(%n : i32)\n^bb1(%x: f32):", "passes i32 for f32"},
      {"tt.call @nobody() : () -> ()", "@nobody does not exist"},
      {"tt.call @kernel(%n) : (i32) -> ()", "passes 1 values, not 4"},
  });
  ExpectRefused(fmt::format("{}cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n%x = arith.addi %n, %n : i32\ncf.br "
                            "^bb2\n^bb2:\n%y = arith.addi %x, %n : i32{}",
                            kHead, kTail),
                {"use without dominance", "may not have run", kFirstLine + 5});
  ExpectRefused(
      fmt::format("{}cf.br ^bb2\n^bb1:\n%x = arith.addi %n, %n : i32\ncf.br ^bb2\n^bb2:\n%y = arith.addi "
                  "%x, %n : i32{}",
                  kHead, kTail),
      {"use of what a block without predecessors defines", "may not have run", kFirstLine + 5});
  ExpectRefused(
      fmt::format("{}cf.br ^bb2\n^bb1:\n%x = arith.addi %n, %n : i32\ntt.return\n^bb2:\n%y = arith.addi %x, "
                  "%n : i32\ncf.br ^bb1\n  }}\n}}\n",
                  kHead),
      {"use before the definition", "may not have run", kFirstLine + 5});
  ExpectRefused(fmt::format("{}cf.br ^bb1\n^bb1:\ncf.br ^bb1\n  }}\n}}\n", kHead),
                {"endless loop", "form a loop", kFirstLine + 4, true});
}

TEST(Refused, Modules) {
  struct Text {
    std::string_view text, reason;
    int line;
    bool unsupported = false;
  };
  const std::initializer_list<Text> texts = {
      {"", "expected 'module', but the text ends", 1},
      {"module {", "expected 'tt.func', but the text ends", 1},
      {"module {\n}\n", "no kernel", 1},
      {"module {\n}\n}\n", "the end of the text", 3},
      {"module {\ntt.func private @a() {\ntt.return\n}\n}", "no kernel", 1},
      {"module {\ntt.func @a() {\ntt.return\n}\ntt.func @b() {\ntt.return\n}\n}", "@b is a second kernel", 5},
      {"module {\ntt.func @a() {\ntt.return\n}\ntt.func private @a() {\ntt.return\n}\n}", "defined twice", 5},
      {"module {\ntt.func @a()\n}", "the function's body", 3},
      {"module {\ntt.func @a() {\n}\n}", "terminator", 2},
      {"module {\ntt.func @a() -> i32 {\ntt.return\n}\n}", "a kernel returns nothing", 2},
      {"module {\ntt.func @a(%x: tensor<4xf32>) {\ntt.return\n}\n}", "takes no tensors", 2},
      {"module {\ntt.func @a(%x: !tt.tensordesc<tensor<4xf32>>, %n: i32) {\ntt.return\n}\n}",
       "must follow it", 2},
      {"module {\ntt.func @a() {\ntt.call @b() : () -> ()\ntt.return\n}\ntt.func private @b() {\ntt.call "
       "@b() : () -> ()\ntt.return\n}\n}",
       "@b calls itself", 6, true},
      {"module {\ntt.func @a() {\n\"tt.re\n\"\n}\n}", "not closed on its line", 3},
      {"module {\ntt.func @a() {\n\x01\n}\n}", "unexpected character 0x01", 3},
      {"module attributes {x = <", "value", 1},
  };
  for (const Text& text : texts)
    ExpectRefused(std::string(text.text), {text.text, text.reason, text.line, text.unsupported});
}

// What a combine region calls obeys its rules, at any depth.
TEST(Refused, CallsInCombineRegions) {
  const auto text = [](std::string_view inner) {
    return fmt::format(
        "module {{\ntt.func @k(%p: !tt.ptr<f32>) {{\n%v = arith.constant dense<1.0> : tensor<8xf32>\n"
        "%0 = \"tt.reduce\"(%v) <{{axis = 0 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\n"
        "%c = tt.call @f(%a, %b) : (f32, f32) -> f32\ntt.reduce.return %c : f32\n}}) : (tensor<8xf32>) -> "
        "f32\n"
        "tt.return\n}}\ntt.func private @f(%a: f32, %b: f32) -> f32 {{\n"
        "%c = tt.call @g(%a, %b) : (f32, f32) -> f32\ntt.return %c : f32\n}}\n"
        "tt.func private @g(%a: f32, %b: f32) -> f32 {{\n{}\ntt.return %a : f32\n}}\n}}\n",
        inner);
  };
  EXPECT_NO_THROW(ParseTtir(text("%s = arith.addf %a, %b : f32")));
  for (const char* inner : {"%s = tt.splat %a : f32 -> tensor<8xf32>",
                            "tt.print \" \" {hex = false, isSigned = array<i32: 0>} : %a : f32"})
    ExpectRefused(text(inner), {inner, "not supported inside", 16, true});
}

std::string Repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Bounds, NestingHasALimit) {
  const std::string open = Repeat("scf.if %c {\n", 100000);
  ExpectRefused(fmt::format("{}{}", kHead, open),
                {"deep regions", "nest deeper than 200", kFirstLine + 199, true});
  const std::string brackets = fmt::format("module attributes {{a = {}", Repeat("[", 100000));
  ExpectRefused(brackets, {"deep attributes", "never closed", 1});
}

TEST(Bounds, ExpandedCallsHaveALimit) {
  std::string text = "module {\ntt.func @f0() {\ntt.call @f1() : () -> ()\ntt.return\n}\n";
  for (int i = 1; i < 30; ++i) {
    const std::string call = i == 29 ? "" : fmt::format("tt.call @f{}() : () -> ()\n", i + 1);
    text += fmt::format("tt.func private @f{}() {{\n{}{}tt.return\n}}\n", i, call, call);
  }
  text += "}\n";
  EXPECT_THROW(ParseTtir(text), TtirError);
}

}  // namespace
}  // namespace tritogen::tile
