#include "tests/cuda/emulator/graphs.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace {

struct Captured {
  const void* kind;
  std::function<void()> run;
};
struct Capture {
  cudaStream_t stream;
  std::vector<Captured> calls;
  bool spoiled = false;
};

thread_local std::optional<Capture> t_capture;

}  // namespace

struct CUgraphNode_st {
  Captured call;                      // of a captured node
  std::shared_ptr<CUgraph_st> child;  // of one that is a graph
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in an order that their dependencies allow
};

// The nodes of the graph that it was made of, each with the calls that it makes now.
struct CUgraphExec_st {
  struct Node {
    const CUgraphNode_st* of;
    std::vector<Captured> calls;
  };
  std::vector<Node> nodes;
};

namespace {

void add_calls(const CUgraph_st& graph, std::vector<Captured>* calls) {
  for (const auto& node : graph.nodes) {
    if (node->child)
      add_calls(*node->child, calls);
    else
      calls->push_back(node->call);
  }
}

std::shared_ptr<CUgraph_st> copy_of(const CUgraph_st& graph) {
  auto copy = std::make_shared<CUgraph_st>();
  for (const auto& node : graph.nodes)
    copy->nodes.push_back(std::make_unique<CUgraphNode_st>(
        CUgraphNode_st{node->call, node->child ? copy_of(*node->child) : nullptr}));
  return copy;
}

}  // namespace

namespace tw::cuda::emulator {

bool capturing() { return t_capture.has_value(); }

bool keep(const void* kind, std::function<void()> run) {
  if (!t_capture) return false;
  t_capture->calls.push_back({kind, std::move(run)});
  return true;
}

bool may_wait() {
  if (t_capture) t_capture->spoiled = true;
  return !t_capture;
}

}  // namespace tw::cuda::emulator

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!stream || t_capture) return cudaErrorStreamCaptureUnsupported;
  t_capture = Capture{stream, {}};
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!t_capture || t_capture->stream != stream) return cudaErrorInvalidValue;
  Capture capture = std::move(*t_capture);
  t_capture.reset();
  if (capture.spoiled) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st;
  for (Captured& call : capture.calls)
    (*graph)->nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{std::move(call), nullptr}));
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new CUgraph_st;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  for (size_t i = 0; nodes && i < *count && i < graph->nodes.size(); i++) nodes[i] = graph->nodes[i].get();
  *count = graph->nodes.size();
  return cudaSuccess;
}

// What it depends on has to be there, so that the order of adding is one to run in.
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t dependency_count,
                                       cudaGraph_t child) {
  for (size_t i = 0; i < dependency_count; i++) {
    bool known = false;
    for (const auto& other : graph->nodes) known = known || other.get() == dependencies[i];
    if (!known) return cudaErrorInvalidValue;
  }
  graph->nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{{}, copy_of(*child)}));
  *node = graph->nodes.back().get();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long) {
  *instance = new CUgraphExec_st;
  for (const auto& node : graph->nodes) {
    (*instance)->nodes.push_back({node.get(), {}});
    if (node->child)
      add_calls(*node->child, &(*instance)->nodes.back().calls);
    else
      (*instance)->nodes.back().calls.push_back(node->call);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  delete instance;
  return cudaSuccess;
}

// Only the parameters may differ: the nodes are of the same kinds.
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  std::vector<Captured> calls;
  add_calls(*child, &calls);
  for (CUgraphExec_st::Node& known : instance->nodes) {
    if (known.of != node) continue;
    bool same = known.calls.size() == calls.size();
    for (size_t i = 0; same && i < calls.size(); i++) same = known.calls[i].kind == calls[i].kind;
    if (!same) return cudaErrorGraphExecUpdateFailure;
    known.calls = std::move(calls);
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t) {
  if (!tw::cuda::emulator::may_wait()) return cudaErrorStreamCaptureUnsupported;
  for (const CUgraphExec_st::Node& node : instance->nodes)
    for (const Captured& call : node.calls) call.run();
  return cudaSuccess;
}
