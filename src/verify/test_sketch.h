// Plans for the tests of the replayer: sketched by hand, or recorded ones from tests/golden/plans.
#pragma once

#include <ATen/ATen.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/frame.h"
#include "plan/parse.h"
#include "verify/replay.h"

namespace tritogen {

using nlohmann::json;

// A Plan under construction: tensors get storages of their own unless told otherwise.
struct Sketch {
  json map = {{"version", 1},
              {"role", "candidate"},
              {"storages", json::array()},
              {"tensors", json::array()},
              {"kernels", json::array()},
              {"generate", json::array()},
              {"setup", json::array()},
              {"run", json::array()},
              {"init_inputs", json::array()},
              {"inputs", json::array()},
              {"warmup_inputs", json::array()},
              {"state", json::array()},
              {"outputs", json::array()},
              {"structure", "()"},
              {"training", false}};

  int Tensor(const char* dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int storage = -1) {
    int64_t elements = 1;
    for (int64_t size : sizes) elements *= size;
    if (storage < 0) {
      storage = static_cast<int>(map["storages"].size());
      map["storages"].push_back(elements * static_cast<int64_t>(DtypeSize(*DtypeFromName(dtype))));
    }
    map["tensors"].push_back({storage, dtype, sizes, strides, 0, "cuda"});
    return static_cast<int>(map["tensors"].size()) - 1;
  }

  int Input(const char* dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    int id = Tensor(dtype, sizes, strides);
    map["inputs"].push_back({{"t", id}});
    return id;
  }

  void Step(const char* phase, const char* op, json args, std::vector<int> outs,
            json kwargs = json::object()) {
    int line = static_cast<int>(map[phase].size()) + 1;
    map[phase].push_back({{"op", op}, {"args", args}, {"kwargs", kwargs}, {"outs", outs}, {"line", line}});
  }

  void Output(int id) {
    map["outputs"].push_back({{"t", id}});
    size_t count = map["outputs"].size();
    std::string stars = "(";
    for (size_t i = 0; i < count; ++i) stars += i ? ",*" : "*";
    map["structure"] = stars + ")";
  }

  Plan Build() const { return ParsePlan(map); }
};

inline json T(int id) {
  return {{"t", id}};
}

// Set-up without bindings, then one call.
inline std::optional<ReplayFailure> RunOnce(const Plan& plan, const TensorList& inputs, TensorList* outputs,
                                            ReplayOptions options = {}) {
  Replayer replayer(plan, options);
  if (auto failure = replayer.SetUp(1, {}, {}, {})) return failure;
  return replayer.Run(inputs, 2, outputs);
}

inline Plan GoldenPlan(const std::string& name) {
  std::ifstream file(TRITOGEN_SOURCE_DIR "/tests/golden/plans/" + name + ".msgpack", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return ParsePlan(DecodeMessagePack(bytes));
}

}  // namespace tritogen
