#include "synth/reduce.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/overloaded.h"
#include "synth/image.h"

namespace tritogen::synth {
namespace {

class UnionFind {
 public:
  explicit UnionFind(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Find(int x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  // The smaller name stays.
  void Join(int a, int b) {
    a = Find(a), b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

class Reducer {
 public:
  explicit Reducer(const System& system)
      : classes_(system.variables().size()), constraints_(system.constraints()) {
    for (const auto& variable : system.variables()) domains_.push_back(variable.domain);
  }

  Reduced Run() {
    do {
      changed_ = false;
      JoinEquals();
      std::vector<Constraint> kept;
      for (Constraint& constraint : constraints_) {
        if (Simplify(&constraint)) kept.push_back(std::move(constraint));
      }
      constraints_ = std::move(kept);
      if (impossible_) return {.impossible = true};
    } while (changed_);
    DropImplied();
    return Split();
  }

 private:
  const Domain& DomainOf(Var var) { return domains_[classes_.Find(var)]; }
  bool Fixed(Var var) { return DomainOf(var).size() == 1; }

  void Narrow(Var var, Domain domain) {
    Domain& have = domains_[classes_.Find(var)];
    Domain both = have.And(domain);
    if (both == have) return;
    have = std::move(both);
    changed_ = true;
    if (have.empty()) impossible_ = true;
  }

  void Merge(Var a, Var b) {
    a = classes_.Find(a), b = classes_.Find(b);
    if (a == b) return;
    Domain both = domains_[a].And(domains_[b]);
    if (both.empty()) impossible_ = true;
    classes_.Join(a, b);
    domains_[classes_.Find(a)] = std::move(both);
    changed_ = true;
  }

  void JoinEquals() {
    for (const Domain& domain : domains_) impossible_ |= domain.empty();
    for (const Constraint& constraint : constraints_) {
      if (const auto* equal = std::get_if<Equal>(&constraint)) Merge(equal->a, equal->b);
    }
  }

  // Whether the constraint is still needed.
  bool Simplify(Constraint* constraint) {
    if (impossible_) return false;
    ForEachVariable(constraint, [&](Var* var) { *var = classes_.Find(*var); });
    bool needed =
        std::visit(Overloaded{
                       [](Equal&) { return false; },
                       [&](Broadcast& c) { return SimplifyBroadcast(c); },
                       [&](Product& c) { return SimplifyProduct(&c); },
                       [&](Bound& c) { return SimplifyBound(&c); },
                       [&](Linear& c) { return SimplifyLinear(&c); },
                       [&](Divides& c) {
                         FoldOperand(&c.divisor);
                         FoldOperand(&c.number);
                         return !(c.divisor == Operand(1));
                       },
                       [&](TransposedWindow& c) {
                         for (Operand* o : {&c.kernel, &c.stride, &c.padding, &c.dilation, &c.extra})
                           FoldOperand(o);
                         return true;
                       },
                       [&](Window& c) {
                         for (Operand* o : {&c.kernel, &c.stride, &c.padding, &c.dilation}) FoldOperand(o);
                         if (c.kernel == Operand(1) && c.stride == Operand(1) && c.padding == Operand(0)) {
                           Merge(c.in, c.out);
                           return false;
                         }
                         return true;
                       },
                   },
                   *constraint);
    return needed && !impossible_ && Propagate(*constraint);
  }

  void FoldOperand(Operand* operand) {
    if (operand->var >= 0 && Fixed(operand->var)) *operand = Operand(DomainOf(operand->var).min());
  }

  bool SimplifyBroadcast(const Broadcast& c) {
    if (c.a == c.b) return Merge(c.out, c.a), false;
    const Domain& a = DomainOf(c.a);
    const Domain& b = DomainOf(c.b);
    if (a.max() == 1) return Merge(c.out, c.b), false;
    if (b.max() == 1) return Merge(c.out, c.a), false;
    if (!a.Contains(1) && !b.Contains(1)) return Merge(c.a, c.b), Merge(c.out, c.a), false;
    return true;
  }

  bool SimplifyProduct(Product* c) {
    auto fold = [&](std::vector<Var>* vars, int64_t* scale) {
      std::erase_if(*vars, [&](Var var) {
        if (!Fixed(var)) return false;
        *scale = SaturatingProduct(*scale, DomainOf(var).min());
        return true;
      });
      std::sort(vars->begin(), vars->end());
    };
    fold(&c->left, &c->left_scale);
    fold(&c->right, &c->right_scale);
    for (size_t i = 0; i < c->left.size();) {  // what stands on both sides is positive and cancels
      auto it = std::find(c->right.begin(), c->right.end(), c->left[i]);
      if (it == c->right.end()) {
        ++i;
        continue;
      }
      c->right.erase(it);
      c->left.erase(c->left.begin() + i);
    }
    const int64_t common = std::gcd(c->left_scale, c->right_scale);
    c->left_scale /= common, c->right_scale /= common;
    if (c->left.size() == 1 && c->right.size() == 1 && c->left_scale == c->right_scale)
      return Merge(c->left[0], c->right[0]), false;
    return !(c->left.empty() && c->right.empty() && c->left_scale == c->right_scale);
  }

  bool SimplifyLinear(Linear* c) {
    std::map<Var, int64_t> sum;
    for (const Linear::Term& term : c->terms) {
      if (Fixed(term.var))
        c->constant += term.coefficient * DomainOf(term.var).min();
      else
        sum[term.var] += term.coefficient;
    }
    c->terms.clear();
    for (const auto& [var, coefficient] : sum) {
      if (coefficient != 0) c->terms.push_back({coefficient, var});
    }
    if (c->terms.size() == 2 && c->constant == 0 && !c->at_most &&
        c->terms[0].coefficient == -c->terms[1].coefficient)
      return Merge(c->terms[0].var, c->terms[1].var), false;
    return true;
  }

  bool SimplifyBound(Bound* c) {
    std::sort(c->vars.begin(), c->vars.end());
    std::erase_if(c->vars, [&](Var var) {
      if (!Fixed(var)) return false;
      c->scale = SaturatingProduct(c->scale, DomainOf(var).min());
      return true;
    });
    if (c->high < kUnbounded) c->high /= c->scale;
    if (c->low > 0) c->low = (c->low - 1) / c->scale + 1;
    c->scale = 1;
    int64_t least = 1, most = 1;
    for (Var var : c->vars) {
      least = SaturatingProduct(least, DomainOf(var).min());
      most = SaturatingProduct(most, DomainOf(var).max());
    }
    if (least > c->high || most < c->low) impossible_ = true;
    if (most <= c->high) c->high = kUnbounded;
    if (least >= c->low) c->low = 0;
    return c->high < kUnbounded || c->low > 0;
  }

  // Narrows a variable that the others of the constraint determine; false when nothing is left to say.
  bool Propagate(const Constraint& constraint) {
    const std::vector<Var> vars = VariablesOf(constraint);
    std::vector<Var> open;
    for (Var var : vars) {
      if (!Fixed(var)) open.push_back(var);
    }
    auto domain = [&](Var var) -> const Domain& { return DomainOf(var); };
    if (open.size() <= 1) {
      if (open.empty() && !vars.empty()) open.push_back(vars[0]);
      if (open.empty()) {
        impossible_ |= !Holds(constraint, {});
        return false;
      }
      Narrow(open[0], Filter(constraint, open[0], domain));
      return false;
    }
    Var large = -1;
    for (Var var : open) {
      if (DomainOf(var).size() <= kListed) continue;
      if (large >= 0) return true;
      large = var;
    }
    if (large < 0) return true;
    if (auto image = Image(constraint, large, domain)) Narrow(large, *image);
    return true;
  }

  // Of bounds over the same variables only the tightest stays, and none that another one implies. All sizes
  // are at least 1, so a product of more variables is the larger one.
  void DropImplied() {
    std::vector<bool> drop(constraints_.size());
    for (size_t i = 0; i < constraints_.size(); ++i) {
      auto* a = std::get_if<Bound>(&constraints_[i]);
      if (a == nullptr) continue;
      for (size_t j = 0; j < constraints_.size(); ++j) {
        const auto* b = std::get_if<Bound>(&constraints_[j]);
        if (b == nullptr || i == j || drop[j]) continue;
        if (a->high >= b->high &&
            std::includes(b->vars.begin(), b->vars.end(), a->vars.begin(), a->vars.end()))
          a->high = kUnbounded;
        if (a->low <= b->low && std::includes(a->vars.begin(), a->vars.end(), b->vars.begin(), b->vars.end()))
          a->low = 0;
        drop[i] = a->high == kUnbounded && a->low == 0;
        if (drop[i]) break;
      }
    }
    std::vector<Constraint> kept;
    for (size_t i = 0; i < constraints_.size(); ++i) {
      if (!drop[i]) kept.push_back(std::move(constraints_[i]));
    }
    constraints_ = std::move(kept);
  }

  Reduced Split() {
    const int size = static_cast<int>(domains_.size());
    UnionFind parts(size);
    for (const Constraint& constraint : constraints_) {
      Var first = -1;
      for (Var var : VariablesOf(constraint)) {
        if (Fixed(var)) continue;  // a constant ties nothing together
        if (first >= 0) parts.Join(first, var);
        first = var;
      }
    }
    Reduced result;
    std::vector<int> part_of(size, -1);
    for (int var = 0; var < size; ++var) {
      const int name = classes_.Find(var);
      result.class_of.push_back(name);
      result.fixed.push_back(Fixed(var) ? DomainOf(var).min() : -1);
      if (name != var || Fixed(var)) continue;
      int& part = part_of[parts.Find(name)];
      if (part < 0) {
        part = static_cast<int>(result.components.size());
        result.components.emplace_back();
      }
      part_of[name] = part;
    }
    std::vector<std::map<int, Var>> local(result.components.size());
    auto rename = [&](int part, Var* var) {
      Component& component = result.components[part];
      auto [it, fresh] = local[part].emplace(*var, static_cast<Var>(component.domains.size()));
      if (fresh) {
        component.domains.push_back(DomainOf(*var));
        component.classes.push_back(*var);
      }
      *var = it->second;
    };
    for (Constraint& constraint : constraints_) {
      int part = -1;
      for (Var var : VariablesOf(constraint)) part = Fixed(var) ? part : part_of[var];
      TRITOGEN_CHECK(part >= 0);
      ForEachVariable(&constraint, [&](Var* var) { rename(part, var); });
      result.components[part].constraints.push_back(std::move(constraint));
    }
    for (int var = 0; var < size; ++var) {  // those that no constraint speaks of
      Var name = var;
      if (part_of[var] >= 0 && classes_.Find(var) == var) rename(part_of[var], &name);
    }
    return result;
  }

  UnionFind classes_;
  std::vector<Domain> domains_;  // valid at the classes' names
  std::vector<Constraint> constraints_;
  bool changed_ = false, impossible_ = false;
};

}  // namespace

Reduced Reduce(const System& system) {
  return Reducer(system).Run();
}

}  // namespace tritogen::synth
