// One safetensors file: 8 bytes of length, a JSON header, and the tensors' bytes without holes.
// https://github.com/huggingface/safetensors, docs/formats/checkpoint.md. Files come from outside: the header
// is checked completely before anything of the size it speaks of is allocated or touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/mapped_file.h"

namespace tritogen {

// A tensor in somebody's memory, contiguous, row-major, little-endian. `bytes` may be unaligned.
struct TensorView {
  Dtype dtype;
  std::vector<int64_t> shape;
  std::string_view bytes;
};

using TensorMap = std::map<std::string, TensorView>;  // by name

struct SafetensorsContents {
  TensorMap tensors;  // views of the file's bytes
  std::map<std::string, std::string> metadata;
};

// `file` is the whole file. Throws FormatError: a header longer than 100 MB or than the file, malformed JSON,
// a name twice, an unknown dtype, a shape that does not match the bytes, offsets past the end, overlaps,
// holes.
SafetensorsContents ParseSafetensors(std::string_view file);

// A mapped file and the views of it.
class SafetensorsFile {
 public:
  // Throws UserError naming the file, for what cannot be read and for what ParseSafetensors refuses.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const TensorMap& tensors() const { return contents_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return contents_.metadata; }

 private:
  MappedFile file_;
  SafetensorsContents contents_;
};

// Writes the file, complete or not at all; tensors are put in the order of falling element size, so that each
// is aligned. REQUIRES: bytes match dtype and shape. Throws UserError when it cannot be written.
void WriteSafetensors(const std::filesystem::path& path, const TensorMap& tensors,
                      const std::map<std::string, std::string>& metadata);

// Bytes of a tensor of this dtype and shape; throws FormatError when they do not fit 63 bits or a side is
// negative.
uint64_t TensorBytes(Dtype dtype, std::span<const int64_t> shape);

}  // namespace tritogen
