#include "record/recorder.h"

#include <filesystem>

#include "base/error.h"
#include "base/frame.h"
#include "base/overloaded.h"
#include "record/jail_probe.h"
#include "record/python_environment.h"
#include "record/reply.h"
#include "record/zygote.h"

namespace tritogen {
namespace {

nlohmann::json ToJson(const Plan& plan, const std::vector<Value>& values);

// A value of the reference's inputs as a candidate may know it: tensors by dtype, sizes and strides only.
nlohmann::json ToJson(const Plan& plan, const Value& value) {
  using Json = nlohmann::json;
  return std::visit(Overloaded{[](std::monostate) { return Json(); },
                               [&](TensorRef ref) {
                                 const TensorMeta& meta = plan.tensors.at(ref.id);
                                 return Json{{"tensor", {DtypeName(meta.dtype), meta.sizes, meta.strides}}};
                               },
                               [](Dtype dtype) {
                                 return Json{{"dtype", DtypeName(dtype)}};
                               },
                               [](DeviceValue device) {
                                 return Json{{"device", device.cuda ? "cuda" : "cpu"}};
                               },
                               [](const LayoutValue& layout) {
                                 return Json{{"layout", layout.name}};
                               },
                               [](const MemoryFormatValue& format) {
                                 return Json{{"memory_format", format.name}};
                               },
                               [](const FunctionValue&) { return Json(); },  // launches alone have them
                               [&](const Value::List& list) { return ToJson(plan, list); },
                               [](const auto& plain) { return Json(plain); }},
                    value.v);
}

nlohmann::json ToJson(const Plan& plan, const std::vector<Value>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const Value& value : values) list.push_back(ToJson(plan, value));
  return list;
}

nlohmann::json RequestMap(const RecordRequest& request) {
  nlohmann::json map = {{"role", request.role == Role::kReference ? "reference" : "candidate"},
                        {"source", request.source},
                        {"entry", request.entry},
                        {"kind", request.is_function ? "function" : "class"},
                        {"capability", {9, 0}}};
  if (request.training) map["training"] = *request.training;
  if (request.reference != nullptr) {
    map["init_inputs"] = ToJson(*request.reference, request.reference->init_inputs);
    map["inputs"] = ToJson(*request.reference, request.reference->inputs);
  }
  return map;
}

// The worker inside the jail, or, in a weak one, where it lies outside. Nothing here tells of the caller.
JailSpec WorkerSpec(const RecorderOptions& options, bool weak) {
  const PythonEnvironment python = FindPythonEnvironment(options.python);
  JailSpec spec;
  spec.weak = weak;
  spec.mounts = python.Mounts(options.worker_folder);
  spec.argv = {python.interpreter, "-s", "-S", "-B",
               (weak ? options.worker_folder : "/worker") + "/zygote.py"};
  if (weak) spec.argv.push_back("--weak");
  spec.argv.push_back(options.recorder_module);
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

}  // namespace

struct Recorder::Impl {
  RecorderOptions options;
  std::vector<std::string> missing;
  std::unique_ptr<Zygote> zygote;
};

Recorder::Recorder(RecorderOptions options) : impl_(std::make_unique<Impl>()) {
  bool weak = false;
  for (const JailFeature& feature : ProbeJail()) {
    if (feature.available) continue;
    impl_->missing.push_back(feature.name);
    if (!feature.required) continue;
    weak = true;
    if (!options.allow_weak_jail) {
      throw UserError(
          fmt::format("the jail for other people's programs needs '{}', which is not to be had here: {}. "
                      "--allow-weak-jail runs them with less protection, which is right only for programs "
                      "you trust",
                      feature.name, feature.detail));
    }
  }
  impl_->zygote = std::make_unique<Zygote>(WorkerSpec(options, weak));
  impl_->options = std::move(options);
}

Recorder::~Recorder() = default;

std::variant<Plan, RecordFailure> Recorder::Record(const RecordRequest& request) {
  ChildLimits limits{impl_->options.wall_seconds, impl_->options.cpu_seconds, impl_->options.memory_bytes};
  if (request.wall_seconds > 0) limits.wall_seconds = request.wall_seconds;
  return ReadChildEnd(impl_->zygote->Run(EncodeFrame(RequestMap(request)), limits), limits);
}

const std::vector<std::string>& Recorder::missing_features() const {
  return impl_->missing;
}

}  // namespace tritogen
