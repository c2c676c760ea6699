#include <fmt/format.h>
#include <zstd.h>

#include <memory>

#include "base/error.h"
#include "data/shard.h"

namespace tritogen::data {
namespace {

constexpr int kLevel = 12;  // records repeat each other; higher levels gain little and cost seconds

size_t Checked(size_t code) {
  if (ZSTD_isError(code)) throw FormatError(fmt::format("zstd: {}", ZSTD_getErrorName(code)));
  return code;
}

}  // namespace

std::string Compress(std::string_view plain) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(Checked(ZSTD_compress2(context.get(), out.data(), out.size(), plain.data(), plain.size())));
  return out;
}

std::string Decompress(std::string_view compressed, size_t max_bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    throw FormatError("no zstd frame of known size");
  if (size > max_bytes) throw FormatError(fmt::format("{} bytes, at most {} are allowed", size, max_bytes));
  if (Checked(ZSTD_findFrameCompressedSize(compressed.data(), compressed.size())) != compressed.size())
    throw FormatError("bytes behind the zstd frame");
  std::string out(size, '\0');
  if (Checked(ZSTD_decompress(out.data(), out.size(), compressed.data(), compressed.size())) != size)
    throw FormatError("the zstd frame is shorter than it says");
  return out;
}

}  // namespace tritogen::data
