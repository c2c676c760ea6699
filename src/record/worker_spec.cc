#include "record/worker_spec.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "record/jail_probe.h"

namespace tritogen {

JailSpec WorkerSpec(const PythonEnvironment& python, const std::string& worker_folder,
                    const std::string& module, bool weak) {
  JailSpec spec;
  spec.weak = weak;
  spec.mounts = python.Mounts(worker_folder);
  spec.argv = {python.interpreter, "-s", "-S", "-B", (weak ? worker_folder : "/worker") + "/zygote.py"};
  if (weak) spec.argv.push_back("--weak");
  spec.argv.push_back(module);
  for (size_t i = 0; i < python.packages.size(); ++i)
    spec.argv.push_back(weak ? python.packages[i] : fmt::format("/packages/{}", i));
  spec.environment = {
      "HOME=/tmp",
      "USER=user",
      "LANG=C.UTF-8",
      "PATH=/nonexistent",
      "TRITON_HOME=/tmp",
      "PYTHONHASHSEED=0",  // the same Plan from the same program, whatever order its sets have
      "OMP_NUM_THREADS=1",
      "MKL_NUM_THREADS=1",
      "OPENBLAS_NUM_THREADS=1",
      // One heap of huge pages: fork and exit walk its page tables in half the time (bench/record_bench.cc).
      "PYTHONMALLOC=malloc",
      "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
  };
  spec.environment.push_back("TMPDIR=" + (weak ? std::filesystem::temp_directory_path().string() : "/tmp"));
  return spec;
}

JailStrength RequireJail(bool allow_weak_jail) {
  JailStrength strength;
  for (const JailFeature& feature : ProbeJail()) {
    if (feature.available) continue;
    strength.missing.push_back(feature.name);
    if (!feature.required) continue;
    strength.weak = true;
    if (!allow_weak_jail) {
      throw UserError(
          fmt::format("the jail for other people's programs needs '{}', which is not to be had here: {}. "
                      "--allow-weak-jail runs them with less protection, which is right only for programs "
                      "you trust",
                      feature.name, feature.detail));
    }
  }
  return strength;
}

}  // namespace tritogen
