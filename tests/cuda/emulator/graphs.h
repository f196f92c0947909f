// Streams that are captured, and graphs, as far as thalweg uses them. Between the begin and the end of a
// capture, what its thread queues is kept, with copies of its arguments, in place of being run.
#pragma once

#include <functional>

#include "tests/cuda/emulator/runtime.h"

struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
using cudaGraph_t = CUgraph_st*;
using cudaGraphNode_t = CUgraphNode_st*;
using cudaGraphExec_t = CUgraphExec_st*;

enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};

inline constexpr cudaError_t cudaErrorStreamCaptureUnsupported = static_cast<cudaError_t>(900);
inline constexpr cudaError_t cudaErrorStreamCaptureInvalidated = static_cast<cudaError_t>(901);
inline constexpr cudaError_t cudaErrorGraphExecUpdateFailure = static_cast<cudaError_t>(910);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t dependency_count,
                                       cudaGraph_t child);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance);
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                                 cudaGraph_t child);
cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream);

namespace tw::cuda::emulator {

bool capturing();
// Keeps a call where the thread captures, else returns false. `kind` says what sort of node it is: a kernel's
// address, or that of a variable that stands for a copy.
bool keep(const void* kind, std::function<void()> run);
// The caller waits for a stream, or has to do with the host's memory: false, and the capture is spoiled,
// where the thread captures.
bool may_wait();

}  // namespace tw::cuda::emulator
