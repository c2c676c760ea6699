#include "text/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "program/canonical.h"
#include "program/print.h"
#include "text/prompt_table.h"

namespace tritogen {
namespace {

constexpr size_t kMostReason = 1024;  // bytes of a verdict's reason that a repair is told

constexpr std::array<std::pair<std::string_view, PromptBody>, 3> kBodies{
    {{"source", PromptBody::kSource}, {"program", PromptBody::kProgram}, {"both", PromptBody::kBoth}}};

// "answer: tag triton_code" and "body: program", before the first section.
bool ReadSetting(std::string_view line, PromptTemplate* prompt) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view key = line.substr(0, colon), value = line.substr(colon + 2);
  if (key == "body") {
    const PromptBody* body = PromptBodyNamed(value);
    if (body != nullptr) prompt->body = *body;
    return body != nullptr;
  }
  if (key == "entry" || key == "program") {
    (key == "entry" ? prompt->entry : prompt->program_name) = value;
    return true;
  }
  if (key != "answer") return false;
  if (value.starts_with("tag ") && value.size() > 4) {
    prompt->answer = AnswerForm::kTag;
    prompt->tag = value.substr(4);
    return true;
  }
  for (const auto& [name, form] : {std::pair<std::string_view, AnswerForm>("class", AnswerForm::kClass),
                                   {"function", AnswerForm::kFunction},
                                   {"text", AnswerForm::kText}}) {
    if (value != name) continue;
    prompt->answer = form;
    return true;
  }
  return false;
}

void TrimEnd(std::string* text) {
  text->erase(text->find_last_not_of(" \n") + 1);
}

std::string AsComments(std::string_view text) {
  std::string comments;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    comments += line.empty() ? "#\n" : fmt::format("# {}\n", line);
  }
  TrimEnd(&comments);
  return comments;
}

// The canonical program under another name.
std::string Renamed(std::string program, std::string_view name) {
  constexpr std::string_view kStart = "def program(";
  const size_t at = program.find(kStart);
  if (!name.empty() && at != std::string::npos)
    program.replace(at, kStart.size(), fmt::format("def {}(", name));
  return program;
}

// One {{…}}: what it does and to which value.
struct Tag {
  char kind;  // '#', '^', '/', or ' ': the value itself
  std::string_view name;
};

class Filler {
 public:
  Filler(std::string_view text, const PromptValues& values) : rest_(text), values_(values) {}

  std::string Run() {
    std::string out = Section("", true);
    TRITOGEN_CHECK(rest_.empty());
    return out;
  }

 private:
  [[noreturn]] static void Fail(std::string_view what, std::string_view name) {
    throw UserError(fmt::format("template of a prompt: {} '{}'", what, name));
  }

  std::optional<Tag> NextTag(std::string* out, bool keep) {
    const size_t open = rest_.find("{{");
    if (keep) *out += rest_.substr(0, open);
    rest_.remove_prefix(open == std::string_view::npos ? rest_.size() : open);
    if (rest_.empty()) return std::nullopt;
    const size_t close = rest_.find("}}");
    if (close == std::string_view::npos) Fail("a {{ without its }}", rest_.substr(0, 20));
    std::string_view inside = rest_.substr(2, close - 2);
    rest_.remove_prefix(close + 2);
    const bool marked = !inside.empty() && std::string_view("#^/").find(inside[0]) != std::string_view::npos;
    return Tag{marked ? inside[0] : ' ', inside.substr(marked)};
  }

  // Up to the {{/name}} of the section that is open, or to the end of the text.
  std::string Section(std::string_view name, bool keep) {
    if (++depth_ > 20) Fail("sections inside of sections too deep at", name);
    std::string out;
    while (auto tag = NextTag(&out, keep)) {
      if (tag->kind == '/') {
        if (tag->name != name || name.empty()) Fail("a section ends that is not open:", tag->name);
        --depth_;
        return out;
      }
      const auto value = values_.find(tag->name);
      if (value == values_.end()) Fail("there is no value", tag->name);
      if (tag->kind == ' ') {
        if (keep) out += value->second;
      } else {
        const bool wanted = value->second.empty() == (tag->kind == '^');
        out += Section(tag->name, keep && wanted);
      }
    }
    if (!name.empty()) Fail("a section does not end:", name);
    return out;
  }

  std::string_view rest_;
  const PromptValues& values_;
  int depth_ = 0;
};

const std::vector<PromptTemplate>& Templates() {
  static const auto* templates = [] {
    auto* read = new std::vector<PromptTemplate>;
    for (const auto& [name, text] : kPromptFiles) read->push_back(ParsePrompt(name, text));
    return read;
  }();
  return *templates;
}

}  // namespace

const PromptBody* PromptBodyNamed(std::string_view text) {
  for (const auto& [name, body] : kBodies) {
    if (text == name) return &body;
  }
  return nullptr;
}

PromptTemplate ParsePrompt(std::string_view name, std::string_view text) {
  PromptTemplate prompt{.name = std::string(name)};
  std::string* section = nullptr;
  bool answer_said = false;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = TakeLine(&text);
    if (line == "--- system") {
      section = &prompt.system;
    } else if (line == "--- user") {
      section = &prompt.user;
    } else if (section != nullptr) {
      section->append(line).append("\n");
    } else if (!line.empty() && line[0] != '#') {
      if (!ReadSetting(line, &prompt))
        throw UserError(
            fmt::format("prompt {}:{}: expected 'answer: class|function|tag NAME|text', 'body: "
                        "source|program|both', '--- system' or '--- user'",
                        name, line_number));
      answer_said |= line.starts_with("answer");
    }
  }
  TrimEnd(&prompt.system);
  TrimEnd(&prompt.user);
  if (prompt.user.empty()) throw UserError(fmt::format("prompt {}: there is no '--- user' section", name));
  if (!answer_said) throw UserError(fmt::format("prompt {}: there is no 'answer:' line", name));
  return prompt;
}

const PromptTemplate& FindPrompt(std::string_view name) {
  for (const PromptTemplate& prompt : Templates()) {
    if (prompt.name == name) return prompt;
  }
  throw UserError(
      fmt::format("there is no prompt '{}'; there are: {}", name, fmt::join(PromptNames(), ", ")));
}

std::vector<std::string> PromptNames() {
  std::vector<std::string> names;
  for (const PromptTemplate& prompt : Templates()) names.push_back(prompt.name);
  return names;
}

std::string FillTemplate(std::string_view text, const PromptValues& values) {
  return Filler(text, values).Run();
}

PromptValues ValuesOf(const PromptTemplate& prompt, const PromptTask& task, PromptBody body) {
  std::string source = task.source;
  TrimEnd(&source);
  const bool in_class = task.is_function && prompt.answer == AnswerForm::kClass && !source.empty();
  if (in_class) {
    source += fmt::format(
        "\n\n\nclass Model(torch.nn.Module):\n    def forward(self, *inputs):\n        return {}(*inputs)",
        task.entry);
  }
  const std::string program = Renamed(task.program, prompt.program_name);
  std::string text = body == PromptBody::kProgram ? program : source;
  if (text.empty()) text = body == PromptBody::kProgram ? source : program;
  TrimEnd(&text);
  if (body == PromptBody::kBoth && !source.empty() && !program.empty())
    text +=
        "\n\n\n# The same, one operation a line, with the shape of each result:\n#\n" + AsComments(program);
  return {{"body", text},
          {"entry", in_class ? "Model" : task.entry},
          {"is_function", task.is_function && !in_class ? "yes" : ""},
          {"function", task.is_function ? task.entry : "wrapper"},
          {"strict", task.strict ? "yes" : ""},
          {"device", task.device},
          {"precision", task.precision},
          {"code", ""},
          {"instruction", ""},
          {"outcome", ""},
          {"rule", ""},
          {"reason", ""}};
}

std::string PrecisionText(const Program& program) {
  std::set<std::string> names;
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kOp) continue;
    for (const Shape& shape : node.results) {
      if (IsFloating(shape.dtype)) names.emplace(DtypeName(shape.dtype));
    }
  }
  return names.empty() ? "float32" : fmt::format("{}", fmt::join(names, " and "));
}

Program WithPlainLeaves(Program program) {
  int number = 0;
  for (Node& node : program.nodes) {
    if (node.kind == NodeKind::kOp) continue;
    node.kind = NodeKind::kInput;
    node.name = fmt::format("x{}", number++);
  }
  return program;
}

PromptTask PolicyTask(const Program& program, bool strict) {
  Program flat = WithPlainLeaves(program);
  CountFromFront(&flat);
  return {
      .program = PrintProgram(flat), .strict = strict, .device = "cuda", .precision = PrecisionText(program)};
}

std::vector<ChatMessage> MessagesOf(const PromptTemplate& prompt, const PromptValues& values) {
  std::vector<ChatMessage> messages;
  if (!prompt.system.empty()) messages.push_back({"system", FillTemplate(prompt.system, values)});
  messages.push_back({"user", FillTemplate(prompt.user, values)});
  return messages;
}

std::string RepairText(std::string_view outcome, std::string_view rule, std::string_view reason) {
  return FillTemplate(FindPrompt("repair").user, {{"outcome", std::string(outcome)},
                                                  {"rule", std::string(rule)},
                                                  {"reason", PrintableText(Trimmed(reason), kMostReason)}});
}

void AskForRepair(std::vector<ChatMessage>* messages, std::string answer, std::string_view outcome,
                  std::string_view rule, std::string_view reason) {
  messages->push_back({"assistant", std::move(answer)});
  messages->push_back({"user", RepairText(outcome, rule, reason)});
}

std::string AnswerEntry(const PromptTemplate& prompt, const PromptTask& task) {
  if (!prompt.entry.empty()) return prompt.entry;
  if (prompt.answer == AnswerForm::kClass) return "ModelNew";
  return task.is_function ? task.entry : "wrapper";
}

}  // namespace tritogen
