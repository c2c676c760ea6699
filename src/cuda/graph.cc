#include "cuda/graph.h"

#include <fmt/format.h>

#include <utility>

namespace tritogen::cuda {

std::optional<Graph> Graph::Capture(const Driver& driver, CUstream stream, const std::function<void()>& body,
                                    std::string* why_not) {
  Graph graph(driver);
  CUresult result = driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result != CUDA_SUCCESS) {
    if (IsSticky(result)) throw Error(result, "begin a capture");
    *why_not = "the stream cannot be captured: " + ResultName(result);
    return std::nullopt;
  }
  std::string problem;
  std::exception_ptr fatal;
  try {
    body();
  } catch (const Error& error) {
    problem = error.what();
    if (error.sticky()) fatal = std::current_exception();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  // Also ends a capture that something in body made invalid, which is when it gives an error and no graph.
  result = driver.cuStreamEndCapture(stream, &graph.graph_);
  if (fatal) std::rethrow_exception(fatal);
  if (problem.empty() && result == CUDA_SUCCESS) {
    result = driver.cuGraphInstantiate(&graph.executable_, graph.graph_, 0);
  }
  if (result != CUDA_SUCCESS && IsSticky(result)) throw Error(result, "capture a graph");
  if (problem.empty() && result != CUDA_SUCCESS)
    problem = "the work cannot be captured: " + ResultName(result);
  if (!problem.empty()) {
    *why_not = problem;
    return std::nullopt;
  }
  Check(driver.cuGraphGetNodes(graph.graph_, nullptr, &graph.nodes_), "count a graph's nodes");
  return graph;
}

Graph::Graph(Graph&& other) noexcept
    : driver_(other.driver_),
      graph_(std::exchange(other.graph_, nullptr)),
      executable_(std::exchange(other.executable_, nullptr)),
      nodes_(other.nodes_) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(graph_, other.graph_);
  std::swap(executable_, other.executable_);
  std::swap(nodes_, other.nodes_);
  return *this;
}

Graph::~Graph() {
  if (executable_ != nullptr) driver_->cuGraphExecDestroy(executable_);
  if (graph_ != nullptr) driver_->cuGraphDestroy(graph_);
}

void Graph::Launch(CUstream stream) const {
  Check(driver_->cuGraphLaunch(executable_, stream), "launch a graph");
}

}  // namespace tritogen::cuda
