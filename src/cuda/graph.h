// A captured CUDA graph.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cuda/driver.h"

namespace tritogen::cuda {

class Graph {
 public:
  // Captures what `body` puts on the stream (thread-local mode: unsafe calls of other threads do not disturb
  // it), and instantiates it. Without a graph `why_not` says why, and the stream is usable as before. What
  // body throws becomes such a reason, but for sticky errors, which are passed on: the context is gone.
  static std::optional<Graph> Capture(const Driver& driver, CUstream stream,
                                      const std::function<void()>& body, std::string* why_not);

  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  void Launch(CUstream stream) const;  // throws Error
  size_t nodes() const { return nodes_; }
  // The same kernels with the same grids in the same order: the two differ by what their arguments say at
  // most. False also where the driver does not tell.
  bool SameKernels(const Graph& other) const;

 private:
  explicit Graph(const Driver& driver) : driver_(&driver) {}

  const Driver* driver_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  size_t nodes_ = 0;
};

}  // namespace tritogen::cuda
