#include "base/frame.h"

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxValues = size_t{8} << 20;

// Walks a MessagePack value without building it, so that what the recursive parser sees afterwards is known
// to be shallow, small and well-formed.
class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : rest_(bytes) {}

  void Scan() {
    open_.push_back({1, false});
    while (!open_.empty()) {
      Container& top = open_.back();
      if (top.left == 0) {
        open_.pop_back();
        continue;
      }
      const bool key = top.is_map && top.left % 2 == 0;
      --top.left;
      if (++values_ > kMaxValues) throw FormatError("MessagePack: too many values");
      One(key);
    }
    if (!rest_.empty()) throw FormatError("MessagePack: bytes after the value");
  }

 private:
  struct Container {
    uint64_t left;  // values still to come; a map counts keys and values
    bool is_map;
  };

  std::string_view Take(uint64_t count) {
    if (count > rest_.size()) throw FormatError("MessagePack: value is cut off");
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  uint64_t Number(int width) {  // big endian
    uint64_t number = 0;
    for (unsigned char byte : Take(width)) number = number << 8 | byte;
    return number;
  }

  void Text(uint64_t bytes) {
    if (!IsUtf8(Take(bytes))) throw FormatError("MessagePack: text is not UTF-8");
  }

  void Open(uint64_t count, bool is_map) {
    // Each value takes a byte at least, which bounds the count before anything is allocated for it.
    if (count > rest_.size()) throw FormatError("MessagePack: container is cut off");
    if (open_.size() > kMaxDepth) throw FormatError("MessagePack: nested too deeply");
    open_.push_back({is_map ? 2 * count : count, is_map});
  }

  void One(bool key) {
    const uint8_t tag = Take(1)[0];
    const bool text = (tag >= 0xa0 && tag <= 0xbf) || (tag >= 0xd9 && tag <= 0xdb);
    if (key && !text) throw FormatError("MessagePack: map key is not text");
    if (tag <= 0x7f || tag >= 0xe0) return;
    if (tag <= 0x8f) return Open(tag & 0x0f, true);
    if (tag <= 0x9f) return Open(tag & 0x0f, false);
    if (tag <= 0xbf) return Text(tag & 0x1f);
    switch (tag) {
      case 0xc0:
      case 0xc2:
      case 0xc3:
        return;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        Take(Number(1 << (tag - 0xc4)));
        return;
      case 0xca:
      case 0xcb:
        Take(tag == 0xca ? 4 : 8);
        return;
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        Take(1 << (tag - 0xcc));
        return;
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        Take(1 << (tag - 0xd0));
        return;
      case 0xd9:
      case 0xda:
      case 0xdb:
        return Text(Number(1 << (tag - 0xd9)));
      case 0xdc:
      case 0xdd:
        return Open(Number(tag == 0xdc ? 2 : 4), false);
      case 0xde:
      case 0xdf:
        return Open(Number(tag == 0xde ? 2 : 4), true);
      default:
        throw FormatError(fmt::format("MessagePack: type byte {:#x} is not allowed", tag));
    }
  }

  std::string_view rest_;
  std::vector<Container> open_;
  size_t values_ = 0;
};

}  // namespace

std::string EncodeFrame(const nlohmann::json& map) {
  TRITOGEN_CHECK(map.is_object());
  std::string frame(kFrameHeaderBytes, '\0');
  nlohmann::json::to_msgpack(map, frame);
  const size_t size = frame.size() - kFrameHeaderBytes;
  if (size > kMaxFrameBytes)
    throw UserError(fmt::format("a message of {} bytes: more than {} MiB", size, kMaxFrameBytes >> 20));
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) frame[i] = static_cast<char>(size >> (8 * i));
  return frame;
}

size_t FrameBodyBytes(std::string_view header) {
  TRITOGEN_CHECK(header.size() == kFrameHeaderBytes);
  uint32_t size = 0;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) size |= uint32_t{static_cast<uint8_t>(header[i])} << (8 * i);
  if (size > kMaxFrameBytes) throw FormatError(fmt::format("frame: claims {} bytes", size));
  return size;
}

nlohmann::json DecodeFrame(std::string_view bytes) {
  if (bytes.size() < kFrameHeaderBytes) throw FormatError("frame: cut off");
  const size_t size = FrameBodyBytes(bytes.substr(0, kFrameHeaderBytes));
  bytes.remove_prefix(kFrameHeaderBytes);
  if (bytes.size() != size)
    throw FormatError(fmt::format("frame: says {} bytes, has {}", size, bytes.size()));
  nlohmann::json map = DecodeMessagePack(bytes);
  if (!map.is_object()) throw FormatError("frame: holds no map");
  return map;
}

nlohmann::json DecodeMessagePack(std::string_view bytes) {
  Scanner(bytes).Scan();
  try {
    return nlohmann::json::from_msgpack(bytes);
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(error.what());
  }
}

}  // namespace tritogen
