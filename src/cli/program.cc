// program FILE: the canonical program of a PyTorch file, as text or as a picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/entry.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/operator_table.h"
#include "cli/parse.h"
#include "cli/session.h"
#include "plan/lift.h"
#include "program/canonical.h"
#include "program/infer.h"
#include "program/parse.h"
#include "program/picture.h"
#include "program/print.h"

namespace tritogen {
namespace {

struct ProgramOptions {
  EntryOptions entry;
  std::vector<std::string> files;
  std::string svg;
  bool text = false, dot = false, check = false, operators = false, allow_weak_jail = false;
};

Program ReadText(const std::string& file) {
  try {
    Program program = ParseProgram(ReadSource(file));
    Canonicalise(&program);
    return program;
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", file, error.what()));
  }
}

int Operations(const Program& program) {
  return static_cast<int>(std::count_if(program.nodes.begin(), program.nodes.end(),
                                        [](const Node& node) { return node.kind == NodeKind::kOp; }));
}

Program ReadOrRecord(Recorder* recorder, const ProgramOptions& options, const std::string& file) {
  return options.text ? ReadText(file) : Lift(RecordFile(recorder, options.entry, file, ReadSource(file)));
}

// One line a file and one a problem; a file without a program has one, too, and the others go on.
int Check(Recorder* recorder, const ProgramOptions& options) {
  int worst = 0;
  for (const std::string& file : options.files) {
    try {
      const Program program = ReadOrRecord(recorder, options, file);
      const std::vector<std::string> problems = ProblemsOf(program);
      const Cost cost = CostOf(program);
      fmt::print("{}: {}, {} operations, {:.3g} GFLOP, {:.3g} MB\n", file,
                 problems.empty() ? "canonical" : "not canonical", Operations(program), cost.flops / 1e9,
                 cost.bytes / 1e6);
      for (const std::string& problem : problems) fmt::print("  {}\n", problem);
      worst = std::max(worst, problems.empty() ? 0 : 1);
    } catch (const UserError& error) {
      fmt::print("{}: no program\n  {}\n", file, error.what());
      worst = 2;
    }
  }
  return worst;
}

int Run(const ProgramOptions& options, const Environment& environment) {
  RequireWritable(options.svg, options.files);
  std::unique_ptr<Recorder> recorder;
  if (!options.text) {
    recorder = std::make_unique<Recorder>(RecorderOptions{.python = environment.python,
                                                          .worker_folder = environment.root + "/worker",
                                                          .allow_weak_jail = options.allow_weak_jail});
  }
  if (options.check) return Check(recorder.get(), options);
  bool all_canonical = true;
  for (const std::string& file : options.files) {
    const Program program = ReadOrRecord(recorder.get(), options, file);
    const std::vector<std::string> problems = ProblemsOf(program);
    all_canonical &= problems.empty();
    for (const std::string& problem : problems) fmt::print(stderr, "tritogen: {}: {}\n", file, problem);
    if (!options.svg.empty()) WriteFileAtomic(options.svg, ToSvg(program));
    if (options.files.size() > 1) fmt::print("# {}\n", file);
    if (options.dot) fmt::print("{}", ToDot(program));
    if (!options.dot && options.svg.empty()) fmt::print("{}", PrintProgram(program));
  }
  return all_canonical ? kDoneExit : kFlawedExit;
}

}  // namespace

int RunProgram(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Shows the canonical program of a PyTorch file: a flat function in plain PyTorch with dtypes and "
      "shapes.\n"
      "Exit code 0: every operation is in the catalogue, 1: some are not (stderr says which), 2: wrong use "
      "or a\n"
      "file that does not run. The form of the text is in docs/programs.md.",
      "./tritogen program");
  ProgramOptions options;
  app.add_option("FILE", options.files, "PyTorch file with Model, get_inputs and get_init_inputs");
  options.entry.AddTo(&app, "show");
  app.add_flag("--text", options.text, "FILE is the text of a program already; nothing of it is run");
  auto* dot = app.add_flag("--dot", options.dot, "print the graph for Graphviz instead");
  app.add_option("--svg", options.svg, "draw the graph into this file instead")->excludes(dot);
  app.add_flag("--check", options.check, "one line a file: canonical or not, and why");
  app.add_flag("--operators", options.operators,
               "list the operators of the catalogue; with names in place of files, what is known of these");
  AddWeakJail(&app, &options.allow_weak_jail);
  if (auto code = Parse(&app, argc, argv)) return *code;
  if (options.operators) {
    fmt::print("{}", options.files.empty() ? OperatorTable() : OperatorDetails(options.files));
    return 0;
  }
  if (options.files.empty()) throw UserError("which FILE? (--operators lists the catalogue)");
  if (options.files.size() > 1 && !options.svg.empty())
    throw UserError("--svg draws one file; draw several one by one");
  return Run(options, environment);
}

}  // namespace tritogen
