// Prompts: named templates, one file each in src/text/prompts/, part of the program. A template says what is
// asked and in which form the answer comes; what it is about is filled in. docs/remote.md has the format.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace tritogen {

// Where the code stands in an answer.
enum class AnswerForm {
  kClass,     // a fenced block that defines class ModelNew
  kFunction,  // a fenced block that defines a function
  kTag,       // between <tag> and </tag>
  kText       // there is no code: a label, a description
};

// What of a task stands in a prompt where the template says {{body}}.
enum class PromptBody {
  kSource,   // the reference's file as the user wrote it
  kProgram,  // the canonical program with shapes in comments
  kBoth      // the file, and the canonical program below it
};

struct PromptTemplate {
  std::string name;
  AnswerForm answer = AnswerForm::kClass;
  std::string tag;           // of AnswerForm::kTag
  std::string entry;         // the function that answers define, where it is always the same
  std::string program_name;  // what the canonical program is called in the prompt; empty: "program"
  PromptBody body = PromptBody::kSource;
  std::string system, user;  // texts with {{value}}, {{#value}}…{{/value}}, {{^value}}…{{/value}}
};

// The built-in template of that name; throws UserError that lists the names.
const PromptTemplate& FindPrompt(std::string_view name);
std::vector<std::string> PromptNames();
// Reads a template's text; throws UserError saying which line of `name` is wrong.
PromptTemplate ParsePrompt(std::string_view name, std::string_view text);

// Null where the text is not one of "source", "program", "both".
const PromptBody* PromptBodyNamed(std::string_view text);

using PromptValues = std::map<std::string, std::string, std::less<>>;

// Replaces {{value}} by the value's text, keeps {{#value}}…{{/value}} where the value is not empty and
// {{^value}}…{{/value}} where it is. A value is never read as a template. Throws UserError for a name that is
// not among the values and for sections that do not close.
std::string FillTemplate(std::string_view text, const PromptValues& values);

// A task in the words of prompts.
struct PromptTask {
  std::string source;   // the reference's file
  std::string program;  // its canonical text (program/print.h); empty where there is none
  std::string entry = "Model";
  bool is_function = false;
  bool strict = false;
  std::string device = "an NVIDIA GPU", precision = "float32";
};

// Values for templates: body, entry, is_function, function (the name that an answer's function gets), strict,
// device, precision, and nothing yet for code and instruction, outcome, rule and reason. A body that
// is not there gives the other. Where a class is asked for and the reference is a function, the body gets a
// class Model that calls it.
PromptValues ValuesOf(const PromptTemplate& prompt, const PromptTask& task, PromptBody body);

// The types of a program's floating-point inputs, parameters and buffers: "float32", "bfloat16 and float32".
std::string PrecisionText(const Program& program);

// The program with inputs x0, x1, … in place of inputs, parameters, buffers and constants, in its order.
Program WithPlainLeaves(Program program);

// A task as the policy that comes with Tritogen is asked: in training and in use. Inputs, parameters, buffers
// and constants are x0, x1, … in the program's order, places along a dimension count from its front; the
// device is the kind of device: its answers do not depend on more.
PromptTask PolicyTask(const Program& program, bool strict);

struct ChatMessage {
  std::string role, content;  // "system", "user", "assistant"
};
// The template filled in: a system message where it has one, and a user message.
std::vector<ChatMessage> MessagesOf(const PromptTemplate& prompt, const PromptValues& values);

// What the prompt `repair` says after an answer that did not pass: verdict's outcome ("wrong_values",
// "no_answer"), its rule, which may be empty, and its reason, of which a kilobyte is kept.
std::string RepairText(std::string_view outcome, std::string_view rule, std::string_view reason);
// Asks for a repair in the same conversation: the answer as it was, then RepairText.
void AskForRepair(std::vector<ChatMessage>* messages, std::string answer, std::string_view outcome,
                  std::string_view rule, std::string_view reason);

// The name under which an answer of this form defines its entry: "ModelNew", "triton_fused_operator".
std::string AnswerEntry(const PromptTemplate& prompt, const PromptTask& task);

}  // namespace tritogen
