#include "train/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/crc32c.h"
#include "base/error.h"

namespace tritogen::train {
namespace {

static_assert(std::endian::native == std::endian::little);

// Fields of event.proto and summary.proto.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kSummaryValue = 1, kValueTag = 1, kValueSimple = 2, kSessionStatus = 1, kStatusStart = 1;
enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename T>
std::string Raw(T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string Key(int field, WireType type) {
  return Varint(static_cast<uint64_t>(field) << 3 | type);
}

std::string Message(int field, const std::string& bytes) {
  return Key(field, kBytes) + Varint(bytes.size()) + bytes;
}

std::string MaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return Raw<uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8u);
}

std::string Frame(const std::string& data) {
  const std::string length = Raw<uint64_t>(data.size());
  return length + MaskedCrc(length) + data + MaskedCrc(data);
}

std::string Event(double seconds, int64_t step, const std::string& what) {
  return Frame(Key(kWallTime, kFixed64) + Raw(seconds) + Key(kStep, kVarint) +
               Varint(static_cast<uint64_t>(step)) + what);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string VersionRecord(double seconds) {
  return Event(seconds, 0, Message(kFileVersion, "brain.Event:2"));
}

std::string StartRecord(double seconds, int64_t step) {
  return Event(seconds, step, Message(kSessionLog, Key(kSessionStatus, kVarint) + Varint(kStatusStart)));
}

std::string ScalarsRecord(double seconds, int64_t step, Scalars scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    summary += Message(kSummaryValue, Message(kValueTag, tag) + Key(kValueSimple, kFixed32) +
                                          Raw(static_cast<float>(value)));
  }
  return Event(seconds, step, Message(kSummary, summary));
}

EventFile::EventFile(const std::filesystem::path& folder, int64_t step) {
  const double now = Now();
  path_ = folder /
          fmt::format("events.out.tfevents.{}.tritogen.{}.{}", static_cast<int64_t>(now), getpid(), step);
  fd_.Reset(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd_.valid()) throw UserError(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
  AppendTo(fd_, VersionRecord(now) + StartRecord(now, step), path_);
}

void EventFile::Add(int64_t step, Scalars scalars) {
  AppendTo(fd_, ScalarsRecord(Now(), step, scalars), path_);
}

void AppendTo(const UniqueFd& fd, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw UserError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace tritogen::train
