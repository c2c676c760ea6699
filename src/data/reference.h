// A synthesised program as the PyTorch file that it is judged against.
#pragma once

#include <string>

#include "synth/shapes.h"

namespace tritogen::data {

// KernelBench's form: class Model whose forward takes the program's inputs, get_inputs() with values that the
// program's operations are defined for, get_init_inputs(). `text` is the program as PrintProgram writes it.
std::string ReferenceFile(const synth::SizedProgram& sized, std::string_view text);

}  // namespace tritogen::data
