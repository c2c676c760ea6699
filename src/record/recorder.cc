#include "record/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/frame.h"
#include "base/overloaded.h"
#include "record/reply.h"
#include "record/worker_spec.h"
#include "record/zygote.h"

namespace tritogen {
namespace {

nlohmann::json ToJson(const Plan& plan, const std::vector<Value>& values);

// A value of the reference's inputs as a candidate may know it: tensors by dtype, sizes and strides only.
nlohmann::json ToJson(const Plan& plan, const Value& value) {
  using Json = nlohmann::json;
  return std::visit(
      Overloaded{[](std::monostate) { return Json(); },
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
                 [&](const Value::Dict& dict) {
                   Json entries = Json::array();
                   for (size_t i = 0; i < dict.keys.size(); ++i)
                     entries.push_back(Json::array({dict.keys[i], ToJson(plan, dict.items[i])}));
                   if (dict.type.empty()) return Json{{"dict", std::move(entries)}};
                   return Json{{"object", Json::array({dict.type, std::move(entries)})}};
                 },
                 [](const auto& plain) { return Json(plain); }},
      value.v);
}

nlohmann::json ToJson(const Plan& plan, const std::vector<Value>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const Value& value : values) list.push_back(ToJson(plan, value));
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
    map["init_inputs"] = ToJson(*request.reference, request.reference->init_inputs);
    map["inputs"] = ToJson(*request.reference, request.reference->inputs);
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

std::vector<int> Recorder::fds() const {
  std::vector<int> all;
  for (const auto& zygote : impl_->zygotes) {
    for (const int fd : zygote->fds()) all.push_back(fd);
  }
  return all;
}

const std::vector<std::string>& Recorder::missing_features() const {
  return impl_->missing;
}

}  // namespace tritogen
