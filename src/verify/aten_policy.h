// Which ATen operators a Plan may call. A Plan is untrusted, and ATen holds more than mathematics: files,
// host reads, foreign storages, unchecked indexing. The rule:
//   namespace aten; public names, and the private ones that recording is known to produce (a short list);
//   every argument of a kind that Plans can express (no storages, streams, qualified classes, dimension
//   names); every result a tensor or a list of tensors, so that nothing reads a value on the host; none of a
//   short list of public names that touch files, streams, storages or other memory layouts.
#pragma once

#include <ATen/core/function_schema.h>

#include <string>

namespace tritogen {

// Why the operator is refused; empty when it may be called.
std::string RefusalOf(const c10::FunctionSchema& schema);

}  // namespace tritogen
