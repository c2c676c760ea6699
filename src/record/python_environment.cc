#include "record/python_environment.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/process.h"

namespace tritogen {
namespace {

// A folder of packages is one that pip or the distribution fills; what else sys.path may hold (the project of
// whoever calls, a folder with notes) stays outside.
constexpr char kQuestion[] = R"python(
import importlib.metadata, importlib.util, json, os, sys
interpreter = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
packages = [os.path.realpath(p) for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
missing = [name for name in ("torch", "triton", "msgpack") if importlib.util.find_spec(name) is None]
triton = "" if "triton" in missing else importlib.metadata.version("triton")
print(json.dumps({"interpreter": interpreter, "prefix": os.path.realpath(sys.base_prefix), "packages": packages,
                  "missing": missing, "triton": triton}))
)python";

}  // namespace

std::vector<JailMount> PythonEnvironment::Mounts(const std::string& worker_folder) const {
  std::vector<JailMount> mounts;
  for (const std::string& folder : libraries) mounts.push_back({folder, folder});
  mounts.push_back({interpreter, interpreter});
  for (size_t i = 0; i < packages.size(); ++i)
    mounts.push_back({packages[i], fmt::format("/packages/{}", i)});
  mounts.push_back({worker_folder, "/worker"});
  return mounts;
}

PythonEnvironment FindPythonEnvironment(const std::string& python) {
  const ProcessResult result = RunProcess({python, "-c", kQuestion}, {.in_own_group = true});
  if (!result.ok()) throw UserError(fmt::format("{} does not work: {}", python, result.error));
  const nlohmann::json answer = nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object())
    throw UserError(fmt::format("{} is no Python interpreter: {}", python, result.output));
  if (!answer["missing"].empty()) {
    throw UserError(
        fmt::format("{} has no {}; use the interpreter of an environment that has torch, triton and msgpack",
                    python, answer["missing"][0].get<std::string>()));
  }
  PythonEnvironment environment;
  environment.interpreter = answer["interpreter"];
  environment.packages = answer["packages"];
  environment.triton_version = answer["triton"];
  environment.libraries = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"};
  const std::string prefix = answer["prefix"];
  if (prefix != "/usr") {
    environment.libraries.push_back(prefix + "/lib");
    environment.libraries.push_back(prefix + "/lib64");
  }
  return environment;
}

}  // namespace tritogen
