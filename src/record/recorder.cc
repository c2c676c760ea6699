#include "record/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/frame.h"
#include "plan/serialize.h"
#include "record/reply.h"
#include "record/worker_spec.h"
#include "record/zygote.h"

namespace tritogen {
namespace {

// Values of the reference as a candidate may know them: tensors by dtype, sizes and strides only.
nlohmann::json Described(const Plan& plan, const std::vector<Value>& values) {
  const auto of_tensor = [&](TensorId id) {
    const TensorMeta& meta = plan.tensors.at(id);
    return nlohmann::json{{"tensor", {DtypeName(meta.dtype), meta.sizes, meta.strides}}};
  };
  nlohmann::json list = nlohmann::json::array();
  for (const Value& value : values) list.push_back(ToJson(value, of_tensor));
  return list;
}

nlohmann::json RequestMap(const RecordRequest& request, int capability) {
  nlohmann::json map = {{"role", request.role == Role::kReference ? "reference" : "candidate"},
                        {"source", request.source},
                        {"entry", request.entry},
                        {"kind", request.is_function ? "function" : "class"},
                        {"capability", {capability / 10, capability % 10}}};
  if (request.training) map["training"] = *request.training;
  if (!request.split.empty()) map["split"] = request.split;
  if (request.reference != nullptr) {
    map["init_inputs"] = Described(*request.reference, request.reference->init_inputs);
    map["inputs"] = Described(*request.reference, request.reference->inputs);
  }
  return map;
}

}  // namespace

struct Recorder::Impl {
  RecorderOptions options;
  std::vector<std::string> missing;
  std::vector<std::unique_ptr<Zygote>> zygotes;
  std::atomic<unsigned> next = 0;

  // In turn; processes forked from one another begin with different ones.
  Zygote& Next() { return *zygotes[(static_cast<unsigned>(getpid()) + next++) % zygotes.size()]; }
};

Recorder::Recorder(RecorderOptions options) : impl_(std::make_unique<Impl>()) {
  JailStrength jail = RequireJail(options.allow_weak_jail);
  impl_->missing = std::move(jail.missing);
  const JailSpec spec = WorkerSpec(FindPythonEnvironment(options.python), options.worker_folder,
                                   options.recorder_module, jail.weak);
  for (int i = 0; i < options.workers; ++i) impl_->zygotes.push_back(std::make_unique<Zygote>(spec));
  impl_->options = std::move(options);
  if (impl_->options.waits) Require();
}

Recorder::~Recorder() = default;

std::variant<Plan, RecordFailure> Recorder::Record(const RecordRequest& request) {
  ChildLimits limits{impl_->options.wall_seconds, impl_->options.cpu_seconds, impl_->options.memory_bytes};
  if (request.wall_seconds > 0) limits.wall_seconds = request.wall_seconds;
  return ReadChildEnd(impl_->Next().Run(EncodeFrame(RequestMap(request, impl_->options.capability)), limits),
                      limits);
}

std::vector<std::optional<Plan>> Recorder::RecordTogether(std::span<const RecordRequest> requests) {
  const ChildLimits limits{impl_->options.wall_seconds, impl_->options.cpu_seconds,
                           impl_->options.memory_bytes};
  nlohmann::json maps = nlohmann::json::array();
  for (const RecordRequest& request : requests)
    maps.push_back(RequestMap(request, impl_->options.capability));
  std::vector<std::optional<Plan>> plans =
      ReadPlans(impl_->Next().Run(EncodeFrame({{"together", std::move(maps)}}), limits));
  plans.resize(requests.size());
  return plans;
}

bool Recorder::Lost() const {
  return std::ranges::any_of(impl_->zygotes, [](const auto& zygote) { return zygote->Lost(); });
}

void Recorder::Require() {
  for (const auto& zygote : impl_->zygotes) zygote->Require();
}

void Recorder::Await() {
  for (const auto& zygote : impl_->zygotes) zygote->Await();
}

std::vector<int> Recorder::fds(HeldLocks* held) const {
  std::vector<int> all;
  for (const auto& zygote : impl_->zygotes) {
    for (const int fd : zygote->fds(held)) all.push_back(fd);
  }
  return all;
}

const std::vector<std::string>& Recorder::missing_features() const {
  return impl_->missing;
}

}  // namespace tritogen
