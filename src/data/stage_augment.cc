// augment: the same program on other inputs. For each program at most `copies` variants: a size becomes
// another one wherever inputs have it, or float32 inputs come in half precision; with `orders`, an input lies
// in memory in another order of dimensions. Shapes are inferred anew by the catalogue, and what it refuses is
// left out.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/splitmix.h"
#include "base/text.h"
#include "data/stages.h"
#include "program/infer.h"
#include "program/print.h"
#include "synth/fingerprint.h"

namespace tritogen::data {
namespace {

constexpr std::string_view kInputs = "\n\ndef get_inputs():\n    return [\n", kEnd = "    ]\n";
constexpr int kTriesPerCopy = 8;

struct Variant {
  Program program;
  std::vector<std::string> inputs;  // lines of get_inputs
  std::string what;                 // "size 64 becomes 61"
};

// Results of every operation from its inputs' shapes; false where the catalogue refuses one.
bool InferAgain(Program* program, int64_t max_elements) {
  for (Node& node : program->nodes) {
    if (node.kind == NodeKind::kOp) {
      const auto call = BindCall(node);
      if (!call) return false;
      Inferred inferred = InferResults(*call, LookupIn(*program));
      if (!inferred.problem.empty() || inferred.results.size() != node.results.size()) return false;
      node.results = std::move(inferred.results);
    }
    for (const Shape& shape : node.results) {
      if (shape.numel() < 1 || shape.numel() > max_elements) return false;
    }
  }
  return true;
}

// An input's sizes in the line that draws it: "torch.randn(64, 48)", "torch.randint(0, 8, (64, 48))".
std::string WithSizes(std::string line, const std::vector<int64_t>& old_sizes,
                      const std::vector<int64_t>& new_sizes) {
  const std::string before = fmt::format("({}", fmt::join(old_sizes, ", "));
  const std::string after = fmt::format("({}", fmt::join(new_sizes, ", "));
  for (const char* end : {")", ",)", ", dtype"})
    line = ReplaceAll(std::move(line), before + end, after + end);
  return line;
}

class Augment : public Stage {
 public:
  std::string_view name() const override { return "augment"; }
  Place place() const override { return Place::kTask; }

  void Describe(config::Fields* f) override {
    f->Int("copies", &copies_, 1, 5);
    f->Int("max_elements", &max_elements_, 1, int64_t{1} << 30);
    f->Bool("sizes", &sizes_);
    f->Bool("dtypes", &dtypes_);
    f->Bool("orders", &orders_);
  }

  void Run(std::vector<Record>* batch, const StageTools& tools) override {
    std::vector<Record> result;
    for (Record& record : *batch) {
      SplitMix random(SplitMix::At(tools.seed ^ 0x61756d656e74, static_cast<uint64_t>(record.draw)));
      std::vector<Record> variants;
      for (int i = 0; i < copies_ * kTriesPerCopy && static_cast<int>(variants.size()) < copies_; ++i) {
        auto variant = Draw(record, &random);
        if (!variant) continue;
        Record made = RecordOf(record, std::move(*variant));
        const bool known = made.reference == record.reference ||
                           std::any_of(variants.begin(), variants.end(), [&](const Record& other) {
                             return other.reference == made.reference;
                           });
        if (!known) variants.push_back(std::move(made));
      }
      result.push_back(std::move(record));
      for (Record& variant : variants) result.push_back(std::move(variant));
    }
    *batch = std::move(result);
  }

 private:
  std::optional<Variant> Draw(const Record& record, SplitMix* random) const {
    if (record.parsed == nullptr) return std::nullopt;
    Variant variant{*record.parsed, InputLines(record.reference), ""};
    std::vector<NodeId> inputs;
    for (NodeId id = 0; id < static_cast<NodeId>(variant.program.nodes.size()); ++id) {
      if (variant.program.nodes[id].kind == NodeKind::kInput) inputs.push_back(id);
    }
    if (inputs.empty() || inputs.size() != variant.inputs.size()) return std::nullopt;
    std::vector<bool (Augment::*)(const std::vector<NodeId>&, Variant*, SplitMix*) const> ways;
    if (sizes_) ways.push_back(&Augment::ChangeSize);
    if (dtypes_) ways.push_back(&Augment::ChangeDtype);
    if (orders_) ways.push_back(&Augment::ChangeOrder);
    if (ways.empty()) return std::nullopt;
    const auto way = ways[random->Below(ways.size())];
    if (!(this->*way)(inputs, &variant, random) || !InferAgain(&variant.program, max_elements_))
      return std::nullopt;
    return variant;
  }

  bool ChangeSize(const std::vector<NodeId>& inputs, Variant* variant, SplitMix* random) const {
    std::vector<int64_t> sizes;
    for (NodeId id : inputs) {
      const Shape& shape = variant->program.nodes[id].results[0];
      if (!IsFloating(shape.dtype)) return false;  // what an index may be depends on sizes
      sizes.insert(sizes.end(), shape.sizes.begin(), shape.sizes.end());
    }
    if (sizes.empty()) return false;
    const int64_t old_size = sizes[random->Below(sizes.size())];
    const int64_t choices[] = {old_size + 1, old_size - 1, 2 * old_size, old_size / 2, 1, 17, 127, 1000};
    const int64_t new_size = choices[random->Below(std::size(choices))];
    if (old_size <= 1 || new_size < 1 || new_size == old_size) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<int64_t>& mine = variant->program.nodes[inputs[i]].results[0].sizes;
      const std::vector<int64_t> before = mine;
      std::replace(mine.begin(), mine.end(), old_size, new_size);
      if (mine == before) continue;
      const std::string line = WithSizes(variant->inputs[i], before, mine);
      if (line == variant->inputs[i]) return false;
      variant->inputs[i] = line;
    }
    variant->what = fmt::format("size {} becomes {}", old_size, new_size);
    return true;
  }

  bool ChangeDtype(const std::vector<NodeId>& inputs, Variant* variant, SplitMix* random) const {
    const Dtype dtype = random->Chance(0.5) ? Dtype::kBFloat16 : Dtype::kFloat16;
    bool any = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Shape& shape = variant->program.nodes[inputs[i]].results[0];
      if (shape.dtype != Dtype::kFloat32) continue;
      shape.dtype = dtype;
      variant->inputs[i] = fmt::format("({}).to(torch.{})", variant->inputs[i], DtypeName(dtype));
      any = true;
    }
    variant->what = fmt::format("inputs in {}", DtypeName(dtype));
    return any;
  }

  bool ChangeOrder(const std::vector<NodeId>& inputs, Variant* variant, SplitMix* random) const {
    const size_t i = random->Below(inputs.size());
    if (variant->program.nodes[inputs[i]].results[0].sizes.size() < 2) return false;
    variant->inputs[i] =
        fmt::format("({}).transpose(-1, -2).contiguous().transpose(-1, -2)", variant->inputs[i]);
    variant->what = fmt::format("input {} in column-major order", i);
    return true;
  }

  // The expressions in get_inputs of a reference file, one for each input.
  static std::vector<std::string> InputLines(std::string_view reference) {
    std::vector<std::string> lines;
    const size_t at = reference.find(kInputs);
    if (at == std::string_view::npos) return lines;
    for (std::string_view rest = reference.substr(at + kInputs.size()); rest.starts_with("        ");) {
      const size_t end = rest.find(",\n");
      if (end == std::string_view::npos) break;
      lines.emplace_back(rest.substr(8, end - 8));
      rest.remove_prefix(end + 2);
    }
    return lines;
  }

  static Record RecordOf(const Record& task, Variant variant) {
    Record record = task;
    record.program = PrintProgram(variant.program);
    const size_t at = task.reference.find(kInputs);
    const size_t end = task.reference.find(kEnd, at);
    record.reference = task.reference.substr(0, at);
    // The class has the program's lines, indented once more; shapes in its comments are what changes.
    record.reference = WithProgram(record.reference, task.program, record.program);
    record.reference += kInputs;
    for (const std::string& line : variant.inputs) record.reference += "        " + line + ",\n";
    record.reference += task.reference.substr(end);
    record.inputs.clear();
    record.outputs.clear();
    for (const Node& node : variant.program.nodes) {
      if (node.kind == NodeKind::kInput) record.inputs.push_back(ShapeText(node.results[0]));
    }
    for (NodeRef ref : variant.program.outputs)
      record.outputs.push_back(ShapeText(variant.program.nodes[ref.id].results[ref.result]));
    const Cost cost = CostOf(variant.program);
    record.flops = cost.flops;
    record.bytes = cost.bytes;
    record.fingerprint = synth::Fingerprint(variant.program, synth::Detail::kSizes);
    record.graph_fingerprint = synth::Fingerprint(variant.program, synth::Detail::kGraph);
    record.labels["augmented"] = variant.what;
    record.parsed = std::make_shared<const Program>(std::move(variant.program));
    return record;
  }

  // Line by line: what stood in the old program's line stands in the new one's. Both have as many.
  static std::string WithProgram(std::string reference, std::string_view before, std::string_view after) {
    size_t from = 0;
    while (!before.empty() && !after.empty()) {
      const size_t old_end = before.find('\n'), new_end = after.find('\n');
      const std::string_view old_line = before.substr(0, old_end), new_line = after.substr(0, new_end);
      const size_t at =
          old_line.empty() || old_line == new_line ? std::string::npos : reference.find(old_line, from);
      if (at != std::string::npos) {
        reference.replace(at, old_line.size(), new_line);
        from = at + new_line.size();
      }
      before.remove_prefix(old_end == std::string_view::npos ? before.size() : old_end + 1);
      after.remove_prefix(new_end == std::string_view::npos ? after.size() : new_end + 1);
    }
    return reference;
  }

  int copies_ = 2;
  int64_t max_elements_ = 65536;
  bool sizes_ = true, dtypes_ = true, orders_ = false;
};

}  // namespace

std::unique_ptr<Stage> MakeAugment() {
  return std::make_unique<Augment>();
}

}  // namespace tritogen::data
