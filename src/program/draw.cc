#include "program/draw.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "program/rules.h"

namespace tritogen {
namespace {

using Domain = ParamSpec::Domain;
using Dtypes = ParamSpec::Dtypes;

int64_t Between(SplitMix* random, int64_t low, int64_t high) {
  return low +
         static_cast<int64_t>(random->Below(static_cast<uint64_t>(std::max<int64_t>(high - low, 0)) + 1));
}

class Drawing {
 public:
  Drawing(const OpRow& row, const Signature& signature, SplitMix* random) : random_(random) {
    form_.row = &row;
    form_.signature = &signature;
  }

  std::optional<CallForm> Run() {
    ChooseDtypes();
    for (const Param& param : form_.signature->params) {
      if (param.IsTensor()) {
        first_ = &param;
        const ParamSpec& spec = SpecOf(param);
        ranks_[param.name] = static_cast<int>(Between(random_, spec.min_rank, spec.max_rank));
        break;
      }
    }
    for (const Param& param : form_.signature->params) {
      if (!param.IsTensor()) attributes_.emplace_back(param.name, Attribute(param));
    }
    for (const Param& param : form_.signature->params) {
      if (param.IsTensor()) {
        form_.args.Add(param.name, Tensors(param));
      } else {
        form_.args.Add(param.name, AttributeArg(param.name));
      }
    }
    return failed_ ? std::nullopt : std::optional(std::move(form_));
  }

 private:
  const ParamSpec& SpecOf(const Param& param) const {
    static const ParamSpec nothing;
    const ParamSpec* spec = form_.row->SpecOf(param.name);
    return spec != nullptr ? *spec : nothing;
  }

  // One floating-point dtype a call.
  void ChooseDtypes() {
    const auto pick = random_->Below(6);
    floating_ = pick == 0 ? Dtype::kFloat16 : pick == 1 ? Dtype::kBFloat16 : Dtype::kFloat32;
    for (const ParamSpec& spec : form_.row->specs) {
      if (spec.dtypes == Dtypes::kFloat32) floating_ = Dtype::kFloat32;
    }
    const auto other = random_->Below(5);
    number_ = other == 0 ? Dtype::kInt32 : other == 1 ? Dtype::kInt64 : floating_;
  }

  Dtype DtypeFor(const ParamSpec& spec) const {
    if (!spec.dtype_as.empty()) {
      const ParamSpec* other = form_.row->SpecOf(spec.dtype_as);
      return other != nullptr ? DtypeFor(*other) : floating_;
    }
    switch (spec.dtypes) {
      case Dtypes::kInt:
        return Dtype::kInt64;
      case Dtypes::kBool:
        return Dtype::kBool;
      case Dtypes::kNumber:
        return number_;
      default:
        return floating_;
    }
  }

  int RankFor(const Param& param, const ParamSpec& spec) {
    if (&param == first_) return ranks_[param.name];
    auto rank_of = [&](const std::string& name) {
      if (auto found = ranks_.find(name); found != ranks_.end()) return found->second;
      const Arg::List* list = AsList(AttributeArg(name));
      return list != nullptr ? static_cast<int>(list->size()) : 1;
    };
    if (!spec.rank_as.empty()) return rank_of(spec.rank_as);
    if (!spec.rank_less.empty()) return rank_of(spec.rank_less) - 1;
    const bool broadcasts = form_.row->shape == rules::Pointwise && spec.max_rank == 4;
    if (!spec.below.empty() || broadcasts)
      return static_cast<int>(Between(random_, 1, rank_of(spec.below.empty() ? first_->name : spec.below)));
    return static_cast<int>(Between(random_, spec.min_rank, spec.max_rank));
  }

  Arg Tensors(const Param& param) {
    const ParamSpec& spec = SpecOf(param);
    if (spec.never || (param.nullable && !spec.always && random_->Below(2) == 0)) return {};
    const int rank = RankFor(param, spec);
    if (rank < 0) failed_ = true;
    ranks_[param.name] = rank;
    auto add = [&](int r) {
      form_.operands.push_back({&param, form_.row->SpecOf(param.name), r, DtypeFor(spec)});
      return Arg{NodeRef{static_cast<NodeId>(form_.operands.size() - 1)}};
    };
    if (param.type == Param::Type::kTensor) return add(rank);
    Arg::List list;
    const int64_t count = Between(random_, spec.min_items, spec.max_items);
    for (int64_t i = 0; i < count; ++i)
      list.push_back(add(static_cast<size_t>(i) < spec.ranks.size() ? spec.ranks[i] : rank));
    return Arg{std::move(list)};
  }

  const Arg& AttributeArg(const std::string& name) const {
    static const Arg none;
    for (const auto& [key, value] : attributes_) {
      if (key == name) return value;
    }
    return none;
  }

  int64_t Axis() {
    const int64_t rank = std::max(first_ == nullptr ? 1 : ranks_[first_->name], 1);
    return Between(random_, random_->Below(4) == 0 ? -rank : 0, rank - 1);
  }

  std::vector<int64_t> Shuffled(int64_t count) {
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = count - 1; i > 0; --i) std::swap(order[i], order[random_->Below(i + 1)]);
    return order;
  }

  Arg Attribute(const Param& param) {
    const ParamSpec& spec = SpecOf(param);
    const int64_t rank = first_ == nullptr ? 0 : ranks_[first_->name];
    switch (spec.domain) {
      case Domain::kAxis:
        return param.type == Param::Type::kInts ? IntsArg({Axis()}) : Arg{Axis()};
      case Domain::kAxes: {
        if (param.type != Param::Type::kInts) return Arg{Axis()};
        std::vector<int64_t> axes = Shuffled(std::max<int64_t>(rank, 1));
        axes.resize(Between(random_, 1, static_cast<int64_t>(axes.size())));
        std::sort(axes.begin(), axes.end());
        return IntsArg(axes);
      }
      case Domain::kPermutation:
        return IntsArg(Shuffled(rank));
      case Domain::kBool:
        return Arg{random_->Below(2) == 1};
      case Domain::kChoice:
        return spec.choices[random_->Below(spec.choices.size())];
      case Domain::kRange:
        return Free(param, spec);
      case Domain::kDefault:
        break;
    }
    if (param.otherwise) return *param.otherwise;
    if (param.nullable || param.type == Param::Type::kPlacement) return {};
    throw InternalError(form_.signature->name + ": nothing says what " + param.name + " may be");
  }

  Arg Free(const Param& param, const ParamSpec& spec) {
    form_.free.insert(param.name);
    if (param.type != Param::Type::kInts) return Arg{spec.low};
    int64_t count = param.count > 0 ? param.count : Between(random_, spec.min_items, spec.max_items);
    if (!spec.items_as.empty()) count = ranks_[spec.items_as];
    return IntsArg(std::vector<int64_t>(count, spec.low));
  }

  SplitMix* random_;
  CallForm form_;
  const Param* first_ = nullptr;
  Dtype floating_ = Dtype::kFloat32, number_ = Dtype::kFloat32;
  std::map<std::string, int> ranks_;
  std::vector<std::pair<std::string, Arg>> attributes_;
  bool failed_ = false;
};

}  // namespace

OpForm CallForm::Unsized() const {
  OpForm unsized{.row = row, .signature = signature, .args = &args, .free = free};
  for (const Operand& operand : operands) unsized.tensors.push_back(OpForm::AnyOfRank(operand.rank));
  return unsized;
}

std::optional<CallForm> DrawForm(const OpRow& row, const Signature& signature, SplitMix* random) {
  return Drawing(row, signature, random).Run();
}

}  // namespace tritogen
