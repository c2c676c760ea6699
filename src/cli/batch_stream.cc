#include "cli/batch_stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "base/error.h"
#include "cli/batch_output.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"

namespace tritogen {
namespace {

constexpr size_t kMostLine = size_t{64} << 20;  // bytes
constexpr double kLook = 0.02, kIdle = 0.5;  // seconds between looks at the input while judges work, or not

// Lines as far as they have come.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  // Waits so long for more, and calls `take` for each line that is whole; what stands behind the last break
  // is one at the end. False at the end.
  template <typename F>
  bool Read(double seconds, const F& take) {
    pollfd input{fd_, POLLIN, 0};
    if (poll(&input, 1, static_cast<int>(std::ceil(seconds * 1000))) <= 0) return true;
    char bytes[1 << 16];
    const ssize_t count = read(fd_, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count <= 0) {
      if (!line_.empty() || skips_) Take(take);
      return false;
    }
    std::string_view rest(bytes, static_cast<size_t>(count));
    for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      Add(rest.substr(0, end));
      Take(take);
    }
    Add(rest);
    return true;
  }

 private:
  // Of a line that is too long no more is kept than tells that it is.
  void Add(std::string_view part) {
    skips_ = skips_ || line_.size() + part.size() > kMostLine;
    if (skips_) {
      line_.clear();
    } else {
      line_ += part;
    }
  }
  template <typename F>
  void Take(const F& take) {
    take(line_, skips_);
    line_.clear();
    skips_ = false;
  }

  int fd_;
  std::string line_;
  bool skips_ = false;
};

}  // namespace

int JudgeStream(int fd, const BatchOptions& batch, const VerifyOptions& options, JudgePool* pool) {
  const std::set<std::string> finished = batch.out.empty() ? std::set<std::string>() : FinishedIds(batch.out);
  BatchOutput output(batch.out);
  LineReader input(fd);
  std::set<std::string> taken;  // ids whose candidates nobody else may be taken for
  int number = 0;
  const auto submit = [&](const std::string& text, bool too_long) {
    ++number;
    if (!too_long && IsBlankLine(text)) return;
    BatchLine line = ParseBatchLine(text, number);
    if (finished.contains(line.id)) return;
    if (taken.contains(line.id)) {
      line.fault = fmt::format("line {} has the id '{}' of another candidate{}; give it its own", number,
                               line.id, batch.out.empty() ? " that is not judged yet" : "");
      line.id = fmt::format("line {}", number);  // the id's own verdict is another one
    }
    try {
      if (too_long) throw UserError(fmt::format("line {} has more than {} MiB", number, kMostLine >> 20));
      if (!line.fault.empty()) throw UserError(line.fault);
      pool->Submit(line.id, RequestOf(line, batch, options));
      taken.insert(line.id);
    } catch (const UserError& error) {
      output.Write(line.id, BadLine(error.what()));
    }
  };
  bool open = true;
  while ((open || pool->unfinished() > 0) && !Interrupted()) {
    if (open) open = input.Read(pool->unfinished() > 0 ? 0 : kIdle, submit);
    if (pool->unfinished() == 0) continue;
    if (auto reply = pool->Next(open ? kLook : kIdle)) {
      output.Write(reply->id, reply->verdict);
      if (batch.out.empty()) taken.erase(reply->id);  // of a file that a later run goes on with ids stay
    }
  }
  if (!Interrupted()) return 0;
  fmt::print(stderr, "interrupted; {} candidates were not judged\n", pool->unfinished());
  return kInterruptedExit;
}

}  // namespace tritogen
