// Frames: how C++ and the Python worker talk. 4-byte little-endian length, then one MessagePack map.
// docs/formats/worker.md. Decoding treats every byte as hostile: it throws FormatError and nothing else.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tritogen {

inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;  // of the MessagePack part
inline constexpr size_t kFrameHeaderBytes = 4;

// REQUIRES: map is an object. Throws UserError where its MessagePack does not fit into a frame.
std::string EncodeFrame(const nlohmann::json& map);

// Bytes of the MessagePack part that a header announces. REQUIRES: kFrameHeaderBytes of them. Throws
// FormatError when no frame is that long.
size_t FrameBodyBytes(std::string_view header);

// `bytes` must be one whole frame and nothing after it.
nlohmann::json DecodeFrame(std::string_view bytes);

// One MessagePack value and nothing after it: at most 64 levels deep and 8 million values, strings (and keys,
// which must be strings) in UTF-8, no extension types; byte strings become nlohmann binaries.
nlohmann::json DecodeMessagePack(std::string_view bytes);

}  // namespace tritogen
