// Small Plans for tests, as the maps a recorder would send.
#pragma once

#include <nlohmann/json.hpp>

namespace tritogen {

// h = relu(x); y = empty; kernel "scale" reads h and weight, writes y. x: float32[2, 3] on the device.
// weight is made on the CPU, filled by normal_, and moved to the device.
inline nlohmann::json SmallPlanMap() {
  return nlohmann::json::parse(R"({
    "version": 1, "role": "candidate",
    "storages": [24, 24, 24, 12, 12],
    "tensors": [[0, "float32", [2, 3], [3, 1], 0, "cuda"], [1, "float32", [2, 3], [3, 1], 0, "cuda"],
                [2, "float32", [2, 3], [3, 1], 0, "cuda"], [3, "float32", [3], [1], 0, "cpu"],
                [4, "float32", [3], [1], 0, "cuda"]],
    "kernels": [{"name": "scale", "ttir": "module {} loc(#loc)\n", "source": "def scale(): ...", "support": "",
                 "options": {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": null}}],
    "generate": [],
    "setup": [
      {"op": "aten::empty.memory_format", "args": [[3]], "kwargs": {"dtype": {"dtype": "float32"}, "device": {"device": "cpu"}},
       "outs": [3], "line": 5},
      {"op": "aten::normal_", "args": [{"t": 3}, 0.0, 1.0], "kwargs": {}, "outs": [3], "line": 6},
      {"op": "aten::_to_copy", "args": [{"t": 3}], "kwargs": {"device": {"device": "cuda"}}, "outs": [4], "line": 0}],
    "run": [
      {"op": "aten::relu", "args": [{"t": 0}], "kwargs": {}, "outs": [1], "line": 9},
      {"op": "aten::empty_like", "args": [{"t": 0}], "kwargs": {}, "outs": [2], "line": 10},
      {"op": "launch", "line": 11, "variants": [{"kernel": 0, "grid": [2, 1, 1], "args": [{"ptr": 1}, {"ptr": 4}, {"ptr": 2}, 3],
       "call": [["h", {"t": 1}], ["w", {"t": 4}], ["y", {"t": 2}], ["n", 3], ["BLOCK", 4]]}]}],
    "init_inputs": [3, [1.5, "mode"]], "inputs": [{"t": 0}], "warmup_inputs": [],
    "state": [["weight", 4, "parameter"]],
    "outputs": [{"t": 2}], "structure": "*", "training": false})");
}

}  // namespace tritogen
