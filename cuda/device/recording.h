// Recorded work as CUDA graphs.
//
// A piece is captured from a stream of the recorder's own into a graph, and becomes a child of the graph of
// the whole, in which one piece follows on the other. Recorded anew, it replaces the parameters of its child
// in the instance (cudaGraphExecChildGraphNodeSetParams), so that only what has changed is paid for, and
// kernels of vendors' libraries need no looking into. Where it has come to consist of other nodes, the whole
// is instantiated anew.
//
// What kernels allocate while they are captured comes from the memory of the recorder's stream, which nobody
// else is given, and which is held as long as the recorder lives: it is theirs again in every run.
#pragma once

#include "cuda/device/caching_allocator.h"
#include "device/recording.h"

namespace tw::cuda {

// Called by what cannot be recorded though the runtime would let it pass: throws kDevice where this thread
// records.
void refuse_recording(const char* op);

Ref<device::Recorder> make_cuda_recorder(int device, CachingAllocator& memory);

}  // namespace tw::cuda
