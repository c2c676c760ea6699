#include "cuda/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace tritogen::cuda {
namespace {

// Nodes in an order that is the same for graphs captured in the same way.
std::vector<CUgraphNode> NodesOf(const Driver& driver, CUgraph graph, size_t count) {
  std::vector<CUgraphNode> nodes(count);
  Check(driver.cuGraphGetNodes(graph, nodes.data(), &count), "list a graph's nodes");
  return nodes;
}

bool SameNode(const Driver& driver, CUgraphNode a, CUgraphNode b) {
  CUgraphNodeType type_a, type_b;
  if (driver.cuGraphNodeGetType(a, &type_a) != CUDA_SUCCESS) return false;
  if (driver.cuGraphNodeGetType(b, &type_b) != CUDA_SUCCESS || type_a != type_b) return false;
  if (type_a != CU_GRAPH_NODE_TYPE_KERNEL) return true;
  CUDA_KERNEL_NODE_PARAMS x{}, y{};
  if (driver.cuGraphKernelNodeGetParams(a, &x) != CUDA_SUCCESS) return false;
  if (driver.cuGraphKernelNodeGetParams(b, &y) != CUDA_SUCCESS) return false;
  auto launch = [](const CUDA_KERNEL_NODE_PARAMS& p) {
    return std::tuple(p.func, p.kern, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY,
                      p.blockDimZ, p.sharedMemBytes);
  };
  return launch(x) == launch(y);
}

}  // namespace

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

bool Graph::SameKernels(const Graph& other) const {
  if (nodes_ != other.nodes_) return false;
  const std::vector<CUgraphNode> ours = NodesOf(*driver_, graph_, nodes_);
  const std::vector<CUgraphNode> theirs = NodesOf(*driver_, other.graph_, nodes_);
  return std::equal(ours.begin(), ours.end(), theirs.begin(),
                    [this](CUgraphNode a, CUgraphNode b) { return SameNode(*driver_, a, b); });
}

}  // namespace tritogen::cuda
