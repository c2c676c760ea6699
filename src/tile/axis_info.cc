#include "tile/axis_info.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "tile/dataflow.h"

namespace tritogen::tile {
namespace {

using Numbers = std::vector<int64_t>;

constexpr int64_t kMostDivisor = int64_t{1} << 30;
constexpr std::array<std::string_view, 3> kHints = {"tt.contiguity", "tt.divisibility", "tt.constancy"};

// By dimension (a scalar has one): lanes that follow each other, what divides the first of such, equal lanes.
// Where nothing is known all are 1.
struct AxisInfo {
  Numbers contiguity, divisibility, constancy;
  bool hinted = false;
  bool operator==(const AxisInfo&) const = default;
};

Numbers Gcd(const Numbers& a, const Numbers& b) {
  Numbers result(a.size());
  for (size_t d = 0; d < a.size(); ++d) result[d] = std::gcd(a[d], b[d]);
  return result;
}

int64_t PowerOfTwoIn(int64_t number) {
  constexpr int kMostBits = std::countr_zero(static_cast<uint64_t>(kMostDivisor));
  return int64_t{1} << std::min(std::countr_zero(static_cast<uint64_t>(number)), kMostBits);
}

// What divides all of them, not only the first of some that follow each other.
int64_t DivisorOfAll(const AxisInfo& info, size_t d) {
  return info.contiguity[d] > 1 ? 1 : info.divisibility[d];
}

class AxisAnalysis {
 public:
  explicit AxisAnalysis(const Function& function) : function_(function), info_(function.values.size()) {
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      AxisInfo info = Unknown(function.parameters[i]);
      if (!function.values[function.parameters[i]].is_tensor())
        info.divisibility[0] = std::clamp<int64_t>(function.divisors[i], 1, kMostDivisor);
      Join(info, function.parameters[i]);
    }
  }

  // False: no fixed point was found.
  bool Run() {
    changed_ = true;
    for (int pass = 0; changed_; ++pass) {
      if (pass == kMaxPasses) return false;
      changed_ = false;
      ForEachOperation(function_.body, [this](const Operation& op) { Visit(op); });
    }
    return true;
  }

  VectorAccess Of(const Operation& op) const {
    const Type& pointers = function_.values[op.operands[0]];
    const size_t mask_at = op.code == OpCode::kStore ? 2 : 1;
    const auto& pointer = info_[op.operands[0]];
    if (!pointers.is_tensor() || !pointer) return {};
    // As a compiler lays tiles out: along the dimension of which most lanes follow each other, the last of
    // such.
    const auto most = std::max_element(pointer->contiguity.rbegin(), pointer->contiguity.rend());
    const size_t d = pointer->contiguity.rend() - most - 1;
    const int64_t bytes = ElemBytes(pointers.pointee);
    constexpr int64_t kMostBytes = 16;
    int64_t lanes =
        std::min({*most, pointer->divisibility[d] / bytes, kMostBytes / bytes, pointers.shape[d]});
    bool hinted = pointer->hinted;
    if (op.operands.size() > mask_at) {
      const auto& mask = info_[op.operands[mask_at]];
      if (!mask || mask->constancy.size() <= d) return {};
      lanes = std::min(lanes, mask->constancy[d]);
      hinted |= mask->hinted;
    }
    if (!hinted || lanes < 2) return {};
    const auto behind = pointers.shape.begin() + static_cast<int64_t>(d) + 1;
    return {static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(lanes))),
            std::accumulate(behind, pointers.shape.end(), int64_t{1}, std::multiplies<>())};
  }

 private:
  AxisInfo Unknown(ValueId value) const {
    const Numbers ones(std::max<size_t>(function_.values[value].shape.size(), 1), 1);
    return {ones, ones, ones};
  }
  // Nothing was said of a value before control flow reaches it.
  void Join(const AxisInfo& info, ValueId to) {
    auto& now = info_[to];
    const auto joined =
        now ? AxisInfo{Gcd(now->contiguity, info.contiguity), Gcd(now->divisibility, info.divisibility),
                       Gcd(now->constancy, info.constancy), now->hinted || info.hinted}
            : info;
    if (now == joined) return;
    now = joined;
    changed_ = true;
  }

  void Visit(const Operation& op) {
    const auto flow = [this](ValueId from, ValueId to) {
      if (info_[from]) Join(*info_[from], to);
    };
    if (FlowThroughControl(function_, op, flow)) return;
    for (ValueId operand : op.operands) {
      if (!info_[operand]) return;
    }
    for (ValueId result : op.results) {
      AxisInfo info = Made(op, result);
      TakeHints(op, &info);
      Join(info, result);
    }
  }
  static void TakeHints(const Operation& op, AxisInfo* info) {
    Numbers* const told[] = {&info->contiguity, &info->divisibility, &info->constancy};
    for (size_t i = 0; i < kHints.size(); ++i) {
      const auto hint = op.Attr<Numbers>(kHints[i]);
      if (hint.size() != told[i]->size() || std::ranges::any_of(hint, [](int64_t n) { return n < 1; }))
        continue;
      std::ranges::transform(hint, told[i]->begin(), [](int64_t n) { return std::min(n, kMostDivisor); });
      info->hinted = true;
    }
  }

  AxisInfo Made(const Operation& op, ValueId result) const {
    switch (op.code) {
      case OpCode::kConstant:
        return OfConstant(op, result);
      case OpCode::kMakeRange: {
        const int64_t start = op.Attr<int64_t>("start");
        return {{op.Attr<int64_t>("end") - start}, {PowerOfTwoIn(start)}, {1}};
      }
      case OpCode::kSplat:
        return OfSplat(op, result);
      case OpCode::kExpandDims:
        return OfExpanded(op);
      case OpCode::kBroadcast:
        return OfBroadcast(op, result);
      case OpCode::kExtSI:
      case OpCode::kExtUI:
      case OpCode::kIndexCast:
        return *info_[op.operands[0]];
      case OpCode::kAddPtr:
      case OpCode::kAddI:
      case OpCode::kSubI:
        return OfSum(op, result);
      case OpCode::kMulI:
        return OfProduct(op, result);
      case OpCode::kCmpI:
        return OfComparison(op, result);
      case OpCode::kAndI:
      case OpCode::kOrI:
      case OpCode::kXorI:
        return OfBoth(op, result);
      default:
        return Unknown(result);
    }
  }

  AxisInfo OfConstant(const Operation& op, ValueId result) const {
    AxisInfo info = Unknown(result);
    const auto value = op.Attr<ConstantBits>("value");
    if (value.bits.size() != 1 || !IsInteger(function_.values[result].elem)) return info;
    info.divisibility.assign(info.divisibility.size(), PowerOfTwoIn(static_cast<int64_t>(value.bits[0])));
    if (function_.values[result].is_tensor()) info.constancy = function_.values[result].shape;
    return info;
  }
  AxisInfo OfSplat(const Operation& op, ValueId result) const {
    const AxisInfo& from = *info_[op.operands[0]];
    AxisInfo info = Unknown(result);
    info.divisibility.assign(info.divisibility.size(), from.divisibility[0]);
    info.constancy = function_.values[result].shape;
    info.hinted = from.hinted;
    return info;
  }
  AxisInfo OfExpanded(const Operation& op) const {
    AxisInfo info = *info_[op.operands[0]];
    int64_t divisor = 0;
    for (size_t d = 0; d < info.contiguity.size(); ++d) divisor = std::gcd(divisor, DivisorOfAll(info, d));
    const int64_t axis = op.Attr<int64_t>("axis");
    info.contiguity.insert(info.contiguity.begin() + axis, 1);
    info.divisibility.insert(info.divisibility.begin() + axis, divisor);
    info.constancy.insert(info.constancy.begin() + axis, 1);
    return info;
  }
  AxisInfo OfBroadcast(const Operation& op, ValueId result) const {
    AxisInfo info = *info_[op.operands[0]];
    const Numbers &from = function_.values[op.operands[0]].shape, &to = function_.values[result].shape;
    for (size_t d = 0; d < to.size(); ++d) {
      if (from[d] == to[d]) continue;
      info.contiguity[d] = 1;
      info.constancy[d] = to[d];
    }
    return info;
  }
  AxisInfo OfSum(const Operation& op, ValueId result) const {
    const AxisInfo& a = *info_[op.operands[0]];
    AxisInfo b = *info_[op.operands[1]];
    if (op.code == OpCode::kAddPtr) {
      for (int64_t& divisor : b.divisibility)
        divisor = std::min(divisor * ElemBytes(function_.values[result].pointee), kMostDivisor);
    }
    AxisInfo info{Gcd(a.contiguity, b.constancy), Gcd(a.divisibility, b.divisibility),
                  Gcd(a.constancy, b.constancy), a.hinted || b.hinted};
    if (op.code == OpCode::kSubI) return info;
    const Numbers other = Gcd(a.constancy, b.contiguity);
    for (size_t d = 0; d < other.size(); ++d) info.contiguity[d] = std::max(info.contiguity[d], other[d]);
    return info;
  }
  // Of any two operands, element by element.
  AxisInfo OfBoth(const Operation& op, ValueId result) const {
    const AxisInfo &a = *info_[op.operands[0]], &b = *info_[op.operands[1]];
    AxisInfo info = Unknown(result);
    info.constancy = Gcd(a.constancy, b.constancy);
    info.hinted = a.hinted || b.hinted;
    return info;
  }
  AxisInfo OfProduct(const Operation& op, ValueId result) const {
    const AxisInfo &a = *info_[op.operands[0]], &b = *info_[op.operands[1]];
    AxisInfo info = OfBoth(op, result);
    for (size_t d = 0; d < info.divisibility.size(); ++d)
      info.divisibility[d] = std::min(DivisorOfAll(a, d) * DivisorOfAll(b, d), kMostDivisor);
    return info;
  }
  // i < n is the same in as many lanes as i and n are both multiples of.
  AxisInfo OfComparison(const Operation& op, ValueId result) const {
    const AxisInfo &a = *info_[op.operands[0]], &b = *info_[op.operands[1]];
    AxisInfo info = OfBoth(op, result);
    const auto predicate = op.Attr<std::string>("predicate");
    const bool by_first =
        predicate == "slt" || predicate == "sge" || predicate == "ult" || predicate == "uge";
    const bool by_second =
        predicate == "sgt" || predicate == "sle" || predicate == "ugt" || predicate == "ule";
    if (!by_first && !by_second) return info;
    const AxisInfo &follows = by_first ? a : b, &bound = by_first ? b : a;
    for (size_t d = 0; d < info.constancy.size(); ++d) {
      if (bound.constancy[d] % follows.contiguity[d] != 0) continue;
      const int64_t divisor = std::gcd(a.divisibility[d], b.divisibility[d]);
      info.constancy[d] = std::max(info.constancy[d], std::gcd(follows.contiguity[d], divisor));
    }
    return info;
  }

  const Function& function_;
  std::vector<std::optional<AxisInfo>> info_;
  bool changed_ = false;
};

bool IsHinted(const Function& function) {
  bool hinted = false;
  ForEachOperation(function.body, [&](const Operation& op) {
    hinted |=
        std::ranges::any_of(kHints, [&](std::string_view hint) { return op.attributes.contains(hint); });
  });
  return hinted;
}

}  // namespace

HintedAccesses FindHintedAccesses(const Function& function) {
  HintedAccesses accesses;
  if (!IsHinted(function)) return accesses;
  AxisAnalysis analysis(function);
  if (!analysis.Run()) return accesses;
  ForEachOperation(function.body, [&](const Operation& op) {
    if (op.code != OpCode::kLoad && op.code != OpCode::kStore) return;
    const VectorAccess access = analysis.Of(op);
    if (access.lanes > 1) accesses.emplace(&op, access);
  });
  return accesses;
}

}  // namespace tritogen::tile
