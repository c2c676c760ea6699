// Judges that a candidate has taken over: what they try is refused, on both crews, and what they need works.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "base/fd.h"
#include "base/temp_dir.h"
#include "judge/test_judges.h"
#include "record/landlock.h"

namespace tritogen {
namespace {

struct World {
  std::string file, folder;  // of the user; a folder that judges may keep files in
  int pipe;                  // of the caller
  pid_t caller;
};

bool Opens(const std::string& path, int flags) {
  return UniqueFd(open(path.c_str(), flags | O_CLOEXEC, 0600)).valid();
}

bool WritesInto(pid_t process) {
  static char byte;
  const iovec here{&byte, 1};
  return process_vm_writev(process, &here, 1, &here, 1, 0) == 1;
}

bool Kills(pid_t process) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  const UniqueFd folder(
      open(("/proc/" + std::to_string(process)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto sends = [](const UniqueFd& fd) {
    return syscall(SYS_pidfd_send_signal, fd.get(), 0, nullptr, 0) == 0;
  };
  return kill(process, 0) == 0 || sends(pidfd) || sends(folder);
}

bool OwnsSignalsOf(pid_t process) {
  const Pipe pipe = MakePipe();
  return fcntl(pipe.read.get(), F_SETOWN, process) == 0;
}

bool StartsAProcess() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, nullptr, 0);
  return child > 0;
}

// True: it did what its name says.
using Attempt = std::function<bool(const World&)>;
const std::map<std::string, Attempt> kForbidden = {
    {"starts a process", [](const World&) { return StartsAProcess(); }},
    {"becomes another program",
     [](const World&) {
       char name[] = "/bin/true", *argv[] = {name, nullptr};
       return execve(name, argv, nullptr) == 0 || errno == ENOENT;
     }},
    {"opens a socket",
     [](const World&) {
       return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || socket(AF_INET, SOCK_STREAM, 0) >= 0 ||
              socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
     }},
    {"writes to a file",
     [](const World& w) { return Opens(w.file, O_WRONLY) || Opens(w.file, O_RDWR | O_TRUNC); }},
    {"makes a file", [](const World& w) { return Opens(w.file + ".new", O_WRONLY | O_CREAT); }},
    {"removes a file", [](const World& w) { return unlink(w.file.c_str()) == 0; }},
    {"renames a file", [](const World& w) { return rename(w.file.c_str(), (w.file + "2").c_str()) == 0; }},
    {"makes a folder", [](const World& w) { return mkdir((w.file + ".d").c_str(), 0700) == 0; }},
    {"changes a mode", [](const World& w) { return chmod(w.file.c_str(), 0777) == 0; }},
    {"makes a link", [](const World& w) { return symlink("/", (w.file + ".l").c_str()) == 0; }},
    {"kills its caller", [](const World& w) { return Kills(w.caller); }},
    {"has its caller signalled", [](const World& w) { return OwnsSignalsOf(w.caller); }},
    {"traces its caller",
     [](const World& w) { return ptrace(PTRACE_ATTACH, w.caller, nullptr, nullptr) == 0; }},
    {"writes into its caller",
     [](const World& w) {
       return WritesInto(w.caller) || Opens("/proc/" + std::to_string(w.caller) + "/mem", O_RDWR);
     }},
    {"limits its caller",
     [](const World& w) {
       const rlimit64 none{0, 0};
       return prlimit64(w.caller, RLIMIT_CORE, &none, nullptr) == 0;
     }},
    {"writes to its caller's pipe", [](const World& w) { return write(w.pipe, "x", 1) == 1; }},
    {"mounts",
     [](const World&) {
       return unshare(CLONE_NEWUSER) == 0 || mount("none", "/tmp", "tmpfs", 0, nullptr) == 0;
     }},
    {"talks to dark corners",
     [](const World&) {
       return syscall(SYS_io_uring_setup, 1, nullptr) >= 0 || syscall(SYS_bpf, 0, nullptr, 0) >= 0 ||
              errno != EPERM;
     }},
};
const std::map<std::string, Attempt> kNeeded = {
    {"starts a thread",
     [](const World&) {
       bool ran = false;
       std::thread([&] { ran = true; }).join();
       return ran;
     }},
    {"reads about the machine",
     [](const World&) { return Opens("/proc/meminfo", O_RDONLY) && Opens("/sys/devices", O_RDONLY); }},
    {"makes pipes and memory files",
     [](const World&) { return MakeMemoryFile("x").valid() && MakePipe().read.valid(); }},
    {"keeps files",
     [](const World& w) {
       return Opens(w.folder + "/file", O_WRONLY | O_CREAT) && unlink((w.folder + "/file").c_str()) == 0;
     }},
};

bool Attempts(const std::string& text, const World& world) {
  const auto& map = kForbidden.contains(text) ? kForbidden : kNeeded;
  return map.at(text)(world);
}

class JudgesJail : public testing::Test {
 protected:
  JudgesJail() { std::ofstream(world_.file) << "the user's"; }

  // Whether a judge, of either crew, can do each of these. `keeps`: it may keep files in the folder.
  std::map<std::string, bool> Outcomes(const std::map<std::string, Attempt>& attempts, bool on_gpu,
                                       bool keeps) {
    const auto needs = [folder = world_.folder, keeps](bool) {
      return keeps ? JudgeNeeds{.fds = {}, .folders = {folder}} : JudgeNeeds{};
    };
    const auto act = [world = world_](const JudgeRequest& request, const FindVerdict&) {
      return Judgement{.verdict = {.reason = Attempts(request.candidate.text, world) ? "done" : "refused"}};
    };
    const auto act_on_gpu = [world = world_](const GpuJob& job) {
      return GpuJudge::Result{.verdict = {.reason = Attempts(job.notes.at(0), world) ? "done" : "refused"}};
    };
    const JudgeFunction first = on_gpu ? JudgeFunction(HandOverAll) : JudgeFunction(act);
    JudgePool pool([first] { return first; }, 1, [act_on_gpu](int) -> GpuJudgeFunction { return act_on_gpu; },
                   on_gpu ? 1 : 0, kGraceSeconds, needs);
    for (const auto& [name, attempt] : attempts) pool.Submit(name, Ask(name));
    std::map<std::string, bool> outcomes;
    for (const auto& [name, reply] : AllReplies(&pool)) {
      EXPECT_NE(reply.outcome, "killed") << name;
      outcomes[name] = reply.verdict.at("reason") == "done";
    }
    return outcomes;
  }

  const TempDir users_, kept_;
  const Pipe pipe_ = MakePipe();
  const World world_{users_.path() / "file", kept_.path(), pipe_.write.get(), getpid()};
};

TEST_F(JudgesJail, RefusesWhatAJudgeDoesNotNeed) {
  // Writing of judges that keep files, and of those on a GPU, is Landlock's business.
  for (const bool keeps : {false, true}) {
    if (keeps && LandlockVersion() == 0) continue;
    for (const auto& [name, done] : Outcomes(kForbidden, /*on_gpu=*/false, keeps))
      EXPECT_FALSE(done) << name << (keeps ? ", keeping files" : "");
  }
  if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  for (const auto& [name, done] : Outcomes(kForbidden, /*on_gpu=*/true, /*keeps=*/true))
    EXPECT_FALSE(done) << name << ", on a GPU";
}

TEST_F(JudgesJail, AllowsWhatItNeeds) {
  for (const bool on_gpu : {false, true}) {
    for (const auto& [name, done] : Outcomes(kNeeded, on_gpu, /*keeps=*/true))
      EXPECT_TRUE(done) << name << (on_gpu ? ", on a GPU" : "");
  }
}

TEST_F(JudgesJail, HidesTheUsersFiles) {
  if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  JudgePool pool(
      [world = world_]() -> JudgeFunction {
        return [world](const JudgeRequest&, const FindVerdict&) {
          return Judgement{.verdict = {.reason = Opens(world.file, O_RDONLY) ? "read" : "hidden"}};
        };
      },
      1);
  pool.Submit("job", Ask(""));
  EXPECT_EQ(pool.Next(30).value().verdict.at("reason"), "hidden");
}

// Threads that were there before are no way around.
TEST_F(JudgesJail, HoldsForThreadsOfItsStart) {
  JudgePool pool(
      [world = world_]() -> JudgeFunction {
        auto asked = std::make_shared<Pipe>(MakePipe()), told = std::make_shared<Pipe>(MakePipe());
        std::thread([=] {
          char byte;
          (void)!read(asked->read.get(), &byte, 1);
          byte = kill(world.caller, 0) == 0 || Opens(world.file, O_WRONLY) ? 'y' : 'n';
          (void)!write(told->write.get(), &byte, 1);
        }).detach();
        return [=](const JudgeRequest&, const FindVerdict&) {
          char byte = 'x';
          (void)!write(asked->write.get(), &byte, 1);
          (void)!read(told->read.get(), &byte, 1);
          return Judgement{.verdict = {.reason = std::string(1, byte)}};
        };
      },
      1);
  pool.Submit("job", Ask(""));
  EXPECT_EQ(pool.Next(30).value().verdict.at("reason"), "n");
}

}  // namespace
}  // namespace tritogen
