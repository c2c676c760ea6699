// Small pieces of Python text: literals, names, and the two edits that a shipped module needs in somebody's
// source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// "torch.float32"
std::string PythonDtype(Dtype dtype);
// 'text' as a Python string literal, any bytes.
std::string PythonString(std::string_view text);
// Shortest literal that reads back as the same double: 0.5, 1e-05, float("inf"), float("nan").
std::string PythonFloat(double value);
// "(1, 2)", "(3,)", "()".
std::string PythonTuple(const std::vector<int64_t>& values);
// The same of expressions.
std::string PythonTupleOf(const std::vector<std::string>& items);
// … one a line, at the top of a file.
std::string PythonTupleOfLines(const std::vector<std::string>& items);

// Replaces every use of the identifier `from` outside strings and comments, but not attributes (`x.from`).
std::string RenameIdentifier(std::string_view source, std::string_view from, std::string_view to);
// Takes the `from __future__` lines out of the source and appends them to `futures`: they must stand first in
// a file.
std::string HoistFutures(std::string_view source, std::vector<std::string>* futures);
// The statements of a file without their blank lines and comments between them; decorators go with their
// function.
std::vector<std::string> TopLevelStatements(std::string_view source);
// The kernel's text from its @triton.jit line on: @triton.autotune and @triton.heuristics have already
// chosen.
std::string WithoutChoosers(std::string_view kernel_source);
// `head(` + arguments + `)`, on one line when it fits in 100 columns, else one argument a line. `indent` in
// spaces.
std::string FormatCall(std::string_view head, const std::vector<std::string>& arguments, int indent);

}  // namespace tritogen
