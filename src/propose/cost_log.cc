#include "propose/cost_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace tritogen {
namespace {

[[noreturn]] void Fail(const std::filesystem::path& path) {
  throw UserError(fmt::format("cannot write the cost log {}: {}", path.string(), std::strerror(errno)));
}

// The file is this process's alone until the end of the scope.
class Lock {
 public:
  explicit Lock(int fd) : fd_(fd) {
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~Lock() { flock(fd_, LOCK_UN); }
  Lock(const Lock&) = delete;

 private:
  int fd_;
};

}  // namespace

std::optional<double> CostOf(const TokenPrices& prices, std::optional<int64_t> prompt_tokens,
                             std::optional<int64_t> completion_tokens) {
  if (!prices.prompt || !prices.completion || !prompt_tokens || !completion_tokens) return std::nullopt;
  return (*prices.prompt * static_cast<double>(*prompt_tokens) +
          *prices.completion * static_cast<double>(*completion_tokens)) *
         1e-6;
}

CostLog::CostLog(const std::filesystem::path& path) : path_(path) {
  fd_.Reset(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_.valid()) Fail(path_);
}

void CostLog::Append(const nlohmann::ordered_json& entry) {
  std::string line = entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const Lock lock(fd_.get());
  struct stat status;
  if (fstat(fd_.get(), &status) != 0) Fail(path_);
  char last = '\n';
  if (S_ISREG(status.st_mode) && status.st_size > 0 && pread(fd_.get(), &last, 1, status.st_size - 1) != 1)
    Fail(path_);
  if (last != '\n') line = "\n" + line;
  for (size_t done = 0; done < line.size();) {
    const ssize_t written = write(fd_.get(), line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int why = errno;
      if (S_ISREG(status.st_mode)) (void)!ftruncate(fd_.get(), status.st_size);
      errno = why;
      Fail(path_);
    }
    done += static_cast<size_t>(written);
  }
}

}  // namespace tritogen
