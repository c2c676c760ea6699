// Several pointwise kernels in one launch: the first programs do the work of the first one, those behind them
// that of the second, and so on. Works that differ in nothing but numbers are calls of one function.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/rounding.h"
#include "base/text.h"
#include "teach/count_text.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {
namespace {

// A text whose whole numbers are taken out: they stand between the pieces.
struct Template {
  std::vector<std::string> pieces = {""}, numbers;
};

// Behind the word or the one other character at `at`; "x_1", "tl.int64" and "1e-05" are words.
size_t EndOfWord(const std::string& text, size_t at) {
  const auto in_word = [&](size_t i) { return i < text.size() && (IsWordByte(text[i]) || text[i] == '.'); };
  const bool number = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  size_t end = at + 1;
  if (!in_word(at)) return end;
  while (in_word(end) || (number && text[end - 1] == 'e' && in_word(end + 1))) ++end;
  return end;
}

Template WithoutNumbers(const std::string& text) {
  Template result;
  for (size_t at = 0, end; at < text.size(); at = end) {
    end = EndOfWord(text, at);
    std::string word = text.substr(at, end - at);
    if (word.find_first_not_of("0123456789") == std::string::npos) {
      result.numbers.push_back(std::move(word));
      result.pieces.emplace_back();
    } else {
      result.pieces.back() += word;
    }
  }
  return result;
}

// What one group does with a block of its elements, as a function that others may share, and its call.
struct Work {
  std::vector<PrimId> pointers;
  std::vector<std::string> params;  // of the pointers
  Template body;
  bool masked = false;
  std::string count;  // of elements
  int64_t blocks = 0;
  std::string function;
  std::vector<std::string> constants;  // numbers in which it differs from the others of the function

  bool Like(const Work& other) const {
    return params == other.params && body.pieces == other.body.pieces && masked == other.masked;
  }
};

// The same names whatever the tensors are called.
std::vector<std::string> PlainNames(const Graph& graph, const Group& group,
                                    const std::vector<PrimId>& pointers) {
  std::vector<std::string> names;
  for (const Prim& prim : graph.prims) names.push_back(prim.name);
  NameTable unique;
  for (PrimId id : pointers) names[id] = unique.Unique(group.per_row.count(id) > 0 ? names[id] : "x");
  return names;
}

std::string BodyOf(const Group& group, bool masked, TileCode& code) {
  Lines body;
  body.Add("# Block `pid` of BLOCK neighbouring elements.");
  AddFlatBlock(group, "pid", masked, code, body);
  return body.text();
}

Work WorkOf(const Graph& graph, const Group& group, const std::vector<std::string>& buffers, int64_t block) {
  const int64_t n = group.Size(AxisKind::kFlat);
  Work work;
  work.masked = n % block != 0;
  work.count = CountText(FactorsOf(group.domain, AxisKind::kFlat));
  work.blocks = CeilDiv(n, block);
  TileCode own(graph, group, buffers);
  BodyOf(group, work.masked, own);
  work.pointers = own.pointers();
  const std::vector<std::string> names = PlainNames(graph, group, work.pointers);
  TileCode plain(graph, group, names);
  work.body = WithoutNumbers(BodyOf(group, work.masked, plain));
  for (PrimId id : work.pointers) work.params.push_back(plain.Pointer(id));
  return work;
}

// The function of works that are alike. Numbers in which they differ are its parameters.
std::string BlockFunction(const std::string& name, const std::vector<Work*>& alike) {
  const Work& first = *alike[0];
  std::vector<std::string> params = {"pid"};
  params.insert(params.end(), first.params.begin(), first.params.end());
  if (first.masked) params.push_back("N: tl.constexpr");
  std::map<std::vector<std::string>, std::string> known;  // a number in each of the works → its parameter
  NameTable sizes;
  std::string body = first.body.pieces[0];
  for (size_t i = 0; i < first.body.numbers.size(); ++i) {
    std::vector<std::string> values;
    for (const Work* work : alike) values.push_back(work->body.numbers[i]);
    const bool same = std::set<std::string>(values.begin(), values.end()).size() == 1;
    if (!same && known.count(values) == 0) {
      known[values] = sizes.Unique("SIZE");
      params.push_back(known[values] + ": tl.constexpr");
      for (Work* work : alike) work->constants.push_back(work->body.numbers[i]);
    }
    body += (same ? values[0] : known[values]) + first.body.pieces[i + 1];
  }
  params.push_back("BLOCK: tl.constexpr");
  for (Work* work : alike) work->function = name;
  return "@triton.jit\n" + FunctionText(name, params, body) + "\n\n";
}

std::string BlockFunctions(const std::string& kernel, std::vector<Work>& works) {
  std::string text;
  NameTable names;
  for (Work& work : works) {
    if (!work.function.empty()) continue;
    std::vector<Work*> alike;
    for (Work& other : works) {
      if (other.Like(work)) alike.push_back(&other);
    }
    text += BlockFunction(names.Unique(kernel + "_block"), alike);
  }
  return text;
}

// Parameters of the launched function: one for each tensor, however many works read it.
class Pointers {
 public:
  explicit Pointers(const std::vector<std::string>& buffers) : buffers_(buffers) {}

  const std::string& Of(PrimId id) {
    auto [found, added] = by_prim_.emplace(id, "");
    if (added) {
      prims.push_back(id);
      names.push_back(found->second = unique_.Unique(buffers_[id] + "_ptr"));
    }
    return found->second;
  }

  std::vector<PrimId> prims;
  std::vector<std::string> names;

 private:
  const std::vector<std::string>& buffers_;
  std::map<PrimId, std::string> by_prim_;
  NameTable unique_;
};

std::string CallOf(const Work& work, const std::string& pid, Pointers& pointers) {
  std::vector<std::string> args = {pid};
  for (PrimId id : work.pointers) args.push_back(pointers.Of(id));
  if (work.masked) args.push_back(work.count);
  args.insert(args.end(), work.constants.begin(), work.constants.end());
  return fmt::format("{}({}, BLOCK)", work.function, fmt::join(args, ", "));
}

// Which programs do which work.
std::string LaunchedFunction(const std::string& name, const std::vector<Work>& works, Pointers& pointers) {
  Lines ends, branches;
  ends.Add("# Works that do not wait for each other, side by side: programs below end_0 do the first one,");
  ends.Add("# those below end_1 the second one, and so on.");
  std::string before;  // where the work's programs begin
  for (size_t i = 0; i < works.size(); ++i) {
    const std::string end = fmt::format("end_{}", i);
    if (i + 1 < works.size()) {
      const std::string behind = before.empty() ? "" : before + " + ";
      ends.Add(fmt::format("{} = {}tl.cdiv({}, BLOCK)", end, behind, works[i].count));
      branches.Add(fmt::format("{} pid < {}:", before.empty() ? "if" : "elif", end));
    } else {
      branches.Add("else:");
    }
    Lines call(2);
    call.Add(CallOf(works[i], before.empty() ? "pid" : "pid - " + before, pointers));
    branches.AddDeeper(call);
    before = end;
  }
  ends.Add("pid = tl.program_id(0)");
  std::vector<std::string> params = pointers.names;
  params.push_back("BLOCK: tl.constexpr");
  return "@triton.jit\n" + FunctionText(name, params, ends.text() + branches.text());
}

}  // namespace

KernelCode WriteSideBySideKernel(const Graph& graph, const Group& group,
                                 const std::vector<std::string>& buffers, const KernelOptions& options,
                                 const std::string& name) {
  int64_t longest = 1;
  for (const Group& one : group.side) longest = std::max(longest, one.Size(AxisKind::kFlat));
  const int64_t block = std::min(options.flat_block, std::max<int64_t>(NextPowerOf2(longest), 64));
  std::vector<Work> works;
  for (const Group& one : group.side) works.push_back(WorkOf(graph, one, buffers, block));
  Pointers pointers(buffers);
  const std::string functions = BlockFunctions(name, works);
  KernelCode kernel;
  kernel.name = name;
  kernel.source = functions + LaunchedFunction(name, works, pointers);
  kernel.pointers = pointers.prims;
  // As numbers, which Python adds up when it compiles: so many calls of triton.cdiv would take the host as
  // long as a launch.
  std::vector<int64_t> blocks;
  for (const Work& work : works) blocks.push_back(work.blocks);
  kernel.grid = fmt::format("{}", fmt::join(blocks, " + "));
  kernel.constants = fmt::format("BLOCK={}", block);
  kernel.num_warps = options.num_warps > 0 ? options.num_warps : block >= 2048 ? 8 : 4;
  kernel.access = fmt::format(
      "{} pointwise works that do not wait for each other; elements of each are read in memory order",
      works.size());
  kernel.launch = fmt::format(
      "side by side: one program for each {} elements of a work, the first work's programs first, grid {}",
      block, kernel.grid);
  kernel.compute = fmt::format(
      "find the work that the program is for, load its operands, compute {} in registers, store once",
      OperatorList(graph, group));
  return kernel;
}

}  // namespace tritogen::teach
