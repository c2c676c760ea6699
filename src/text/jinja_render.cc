#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/utf8.h"
#include "text/added_tokens.h"
#include "text/jinja.h"
#include "text/jinja_values.h"

namespace tritogen::jinja {
namespace {

using Kind = Expression::Kind;

constexpr size_t kMaxSteps = 2'000'000, kMaxText = size_t{64} << 20;

class Renderer {
 public:
  explicit Renderer(const Value& variables) : scopes_(2, Value::object()) { scopes_[0] = variables; }

  void Run(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      Step();
      switch (statement.kind) {
        case Statement::Kind::kText:
          Put(statement.text);
          break;
        case Statement::Kind::kOutput:
          PutValue(statement.conditions[0]);
          break;
        case Statement::Kind::kSet:
          Set(statement);
          break;
        case Statement::Kind::kFor:
          For(statement);
          break;
        case Statement::Kind::kIf: {
          size_t branch = 0;
          while (branch < statement.conditions.size() && !Holds(statement.conditions[branch])) ++branch;
          if (branch < statement.bodies.size()) Run(statement.bodies[branch]);
        }
      }
    }
  }

  std::string& text() { return text_; }

 private:
  void Step() {
    if (++steps_ > kMaxSteps) FailRender("more than 2 million steps");
  }
  void Put(const std::string& text) {
    if (text.size() > kMaxText - text_.size()) FailRender("more than 64 MB of text");
    text_ += text;
  }

  Value* Find(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) return &*found;
    }
    return nullptr;
  }

  void Set(const Statement& statement) {
    Value value = Evaluate(statement.conditions[0]);
    if (statement.text2.empty()) {
      scopes_.back()[statement.text] = std::move(value);
      return;
    }
    Value* space = Find(statement.text);  // a namespace is one thing, wherever it is set
    if (!space || !space->is_object()) FailRender(fmt::format("'{}' is no namespace", statement.text));
    (*space)[statement.text2] = std::move(value);
  }

  void For(const Statement& statement) {
    Value items = ToList(Evaluate(statement.conditions[0]));
    if (statement.conditions.size() > 1) {
      Value kept = Value::array();
      for (const Value& item : items) {
        Step();
        scopes_.push_back(Value::object());
        Bind(statement, item);
        if (Holds(statement.conditions[1])) kept.push_back(item);
        scopes_.pop_back();
      }
      items = std::move(kept);
    }
    const size_t count = items.size();
    for (size_t i = 0; i < count; ++i) {
      Step();
      scopes_.push_back(Value::object());
      Bind(statement, items[i]);
      Value loop = {
          {"index", i + 1},  {"index0", i},           {"first", i == 0},           {"last", i + 1 == count},
          {"length", count}, {"revindex", count - i}, {"revindex0", count - i - 1}};
      if (i > 0) loop["previtem"] = items[i - 1];
      if (i + 1 < count) loop["nextitem"] = items[i + 1];
      scopes_.back()["loop"] = std::move(loop);
      Run(statement.bodies[0]);
      scopes_.pop_back();
    }
  }

  void Bind(const Statement& statement, const Value& item) {
    if (statement.text2.empty()) {
      scopes_.back()[statement.text] = item;
    } else {
      if (!item.is_array() || item.size() != 2) FailRender("a for with two names over what are no pairs");
      scopes_.back()[statement.text] = item[0];
      scopes_.back()[statement.text2] = item[1];
    }
  }

  std::vector<Value> EvaluateAll(const std::vector<Expression>& expressions, size_t from) {
    std::vector<Value> values;
    for (size_t i = from; i < expressions.size(); ++i) values.push_back(Evaluate(expressions[i]));
    return values;
  }

  Value EvaluateNamed(const Expression& e) {
    Value values = Value::object();
    for (const auto& [name, expression] : e.named) values[name] = Evaluate(expression);
    return values;
  }

  void PutValue(const Expression& e) {
    Value made;
    Put(ToText(Look(e, &made)));
  }
  bool Holds(const Expression& e) {
    Value made;
    return IsTrue(Look(e, &made));
  }

  Value Evaluate(const Expression& e) {
    Value made;
    const Value& value = Look(e, &made);
    return &value == &made ? std::move(made) : value;
  }

  // The value where it stands, for as long as no variable is set, or else in `made`: messages[i].role must
  // not copy all messages, of which there may be many.
  const Value& Look(const Expression& e, Value* made) {
    Step();
    switch (e.kind) {
      case Kind::kLiteral:
        return e.literal;
      case Kind::kName:
        if (const Value* found = Find(e.text)) return *found;
        return *made = IsFunction(e.text) ? Function() : Undefined();
      case Kind::kAttribute: {
        const Value* member = FindMember(Look(e.children[0], made), e.text);
        return member ? *member : *made = Undefined();
      }
      case Kind::kIndex: {
        const Value& object = Look(e.children[0], made);
        const Value index = Evaluate(e.children[1]);
        if (const Value* element = FindElement(object, index)) return *element;
        return *made = Index(object, index);
      }
      default:
        return *made = Make(e);
    }
  }

  // Of an expression that does not name a value but makes one.
  Value Make(const Expression& e) {
    Value made;
    switch (e.kind) {
      case Kind::kList: {
        Value list = Value::array();
        for (const auto& child : e.children) list.push_back(Evaluate(child));
        return list;
      }
      case Kind::kMap: {
        Value map = Value::object();
        for (size_t i = 0; i + 1 < e.children.size(); i += 2) {
          map[ToText(Evaluate(e.children[i]))] = Evaluate(e.children[i + 1]);
        }
        return map;
      }
      case Kind::kSlice:
        return EvaluateSlice(e);
      case Kind::kCall:
        return Call(e);
      case Kind::kMethod:
        if (!e.named.empty()) FailNamed(e, "method");
        return Method(Look(e.children[0], &made), e.text, EvaluateAll(e.children, 1));
      case Kind::kFilter:
        return Filter(Look(e.children[0], &made), e.text, EvaluateAll(e.children, 1), EvaluateNamed(e));
      case Kind::kTest:
        return Test(Look(e.children[0], &made), e.text);
      case Kind::kUnary:
        if (e.text == "not") return !Holds(e.children[0]);
        return Arithmetic("-", Value(0), Look(e.children[0], &made));
      case Kind::kBinary:
        return Binary(e);
      case Kind::kChoice:
        return Evaluate(e.children[Holds(e.children[0]) ? 1 : 2]);
      default:
        TRITOGEN_CHECK(false);
    }
  }

  Value EvaluateSlice(const Expression& e) {
    std::optional<int64_t> ends[3];
    for (size_t i = 0; i < 3; ++i) {
      if (e.children[i + 1].absent) continue;
      const Value value = Evaluate(e.children[i + 1]);
      if (!value.is_number_integer()) FailRender("the ends of a slice are integers");
      ends[i] = value.get<int64_t>();
    }
    Value made;
    return Slice(Look(e.children[0], &made), ends[0], ends[1], ends[2]);
  }

  Value Binary(const Expression& e) {
    Value left_made, right_made;
    const Value& left = Look(e.children[0], &left_made);
    if (e.text == "and") return IsTrue(left) ? Evaluate(e.children[1]) : left;
    if (e.text == "or") return IsTrue(left) ? left : Evaluate(e.children[1]);
    const Value& right = Look(e.children[1], &right_made);
    if (e.text == "~") return ToText(left) + ToText(right);
    if (e.text == "==") return Equal(left, right);
    if (e.text == "!=") return !Equal(left, right);
    if (e.text == "in") return Contains(right, left);
    if (e.text[0] == '<' || e.text[0] == '>') return Compare(e.text, left, right);
    return Arithmetic(e.text, left, right);
  }

  // Templates ask whether they are there: {% if strftime_now is defined %}.
  static bool IsFunction(std::string_view name) {
    return name == "namespace" || name == "raise_exception" || name == "strftime_now" || name == "range";
  }

  [[noreturn]] static void FailNamed(const Expression& e, std::string_view what) {
    FailRender(fmt::format("arguments by name ({}) are not supported for the {} '{}'", e.named[0].first, what,
                           e.text));
  }

  Value Call(const Expression& e) {
    const std::vector<Value> arguments = EvaluateAll(e.children, 0);
    if (e.text == "namespace" && arguments.empty()) return EvaluateNamed(e);
    if (!e.named.empty()) FailNamed(e, "function");
    if (e.text == "raise_exception") {
      throw FormatError(
          PrintableText(arguments.empty() ? "the chat template refuses" : ToText(arguments[0]), 1000));
    }
    if (e.text == "strftime_now" && arguments.size() == 1 && arguments[0].is_string()) {
      const std::time_t now = std::time(nullptr);
      std::tm local{};
      localtime_r(&now, &local);
      char text[200];
      return std::string(text,
                         std::strftime(text, sizeof text, arguments[0].get<std::string>().c_str(), &local));
    }
    if (e.text == "range" && arguments.size() <= 3 && !arguments.empty()) return Range(arguments);
    FailRender(fmt::format("the function '{}' is not supported", e.text));
  }

  static Value Range(const std::vector<Value>& arguments) {
    for (const Value& argument : arguments) {
      if (!argument.is_number_integer()) FailRender("range wants integers");
    }
    const int64_t begin = arguments.size() > 1 ? arguments[0].get<int64_t>() : 0;
    const int64_t end = arguments[arguments.size() > 1 ? 1 : 0].get<int64_t>();
    const int64_t step = arguments.size() > 2 ? arguments[2].get<int64_t>() : 1;
    if (step == 0) FailRender("range with a step of 0");
    Value list = Value::array();
    int64_t i = begin;
    for (bool more = true; more && (step > 0 ? i < end : i > end);
         more = !__builtin_add_overflow(i, step, &i)) {
      if (list.size() == 100'000) FailRender("a range of more than 100000");
      list.push_back(i);
    }
    return list;
  }

  std::vector<Value> scopes_;
  std::string text_;
  size_t steps_ = 0;
};

}  // namespace

std::string Render(const std::vector<Statement>& statements, const Value& variables) {
  Renderer renderer(variables);
  renderer.Run(statements);
  return std::move(renderer.text());
}

}  // namespace tritogen::jinja
