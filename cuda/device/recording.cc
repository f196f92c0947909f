#include "cuda/device/recording.h"

#include <exception>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cuda/common/graphs.h"
#include "cuda/device/streams.h"

namespace tw::cuda {

namespace {

thread_local bool t_recording = false, t_refused = false;

// A stream with memory of its own.
class CudaRecorder final : public device::Recorder {
 public:
  CudaRecorder(int device, CachingAllocator& memory)
      : memory_(memory), stream_(make_ref<CudaStream>(device, 0)) {
    memory_.hold(stream_->handle());
  }
  // Runs may be queued on any stream.
  ~CudaRecorder() override {
    OnDevice on(stream_->device());
    cudaDeviceSynchronize();
    memory_.release(stream_->handle());
  }

  Ref<device::Recording> make_recording() override;
  const Ref<CudaStream>& stream() const { return stream_; }

 private:
  CachingAllocator& memory_;
  Ref<CudaStream> stream_;
};

// While it lives, the thread works on a stream.
class OnStream {
 public:
  explicit OnStream(const Ref<CudaStream>& stream)
      : device_(stream->device()), before_(&stream_of_thread(stream->device())) {
    set_stream_of_thread(stream);
  }
  ~OnStream() { set_stream_of_thread(before_); }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  OnDevice device_;
  Ref<CudaStream> before_;
};

class Graph {
 public:
  Graph() = default;
  explicit Graph(cudaGraph_t handle) : handle_(handle) {}
  Graph(Graph&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Graph() {
    if (handle_) cudaGraphDestroy(handle_);
  }
  cudaGraph_t handle() const { return handle_; }
  // A launch on no elements queues nothing.
  bool empty() const {
    size_t nodes = 0;
    check(cudaGraphGetNodes(handle_, nullptr, &nodes), "cudaGraphGetNodes");
    return nodes == 0;
  }

 private:
  cudaGraph_t handle_ = nullptr;
};

class CudaRecording final : public device::Recording {
 public:
  explicit CudaRecording(Ref<CudaRecorder> recorder) : recorder_(std::move(recorder)) {}
  ~CudaRecording() override { drop_instance(); }

  bool record(size_t number, FunctionRef<void()> work) override {
    Graph graph;
    if (!capture(work, &graph)) return false;
    if (number == pieces_.size()) {
      pieces_.push_back({std::move(graph), nullptr});
      drop_instance();
      return true;
    }
    TW_CHECK(number < pieces_.size(), kInternal, "record: piece ", number, " of ", pieces_.size());
    Piece& piece = pieces_[number];
    if (instance_ && !replace(piece, graph)) drop_instance();
    piece.graph = std::move(graph);
    return true;
  }

  void run(device::Stream& stream) override {
    auto& queue = static_cast<CudaStream&>(stream);
    OnDevice on(queue.device());
    if (!instance_) make_instance();
    check(cudaGraphLaunch(instance_, queue.handle()), "cudaGraphLaunch");
    check(cudaGetLastError(), "cudaGraphLaunch");
  }

 private:
  struct Piece {
    Graph graph;
    cudaGraphNode_t child;  // in the whole; null for an empty piece
  };

  // The mode lets allocations and queries pass, which have nothing to do with the stream. What waits for it
  // fails, and spoils the capture.
  bool capture(FunctionRef<void()> work, Graph* graph) {
    OnStream on(recorder_->stream());
    const cudaStream_t stream = recorder_->stream()->handle();
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    t_recording = true;
    t_refused = false;
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    t_recording = false;
    cudaGraph_t captured = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream, &captured);
    *graph = Graph(captured);
    if (error != cudaSuccess) cudaGetLastError();  // it is told here, not by the next call
    if (t_refused || error == cudaErrorStreamCaptureInvalidated) return false;
    if (failure) std::rethrow_exception(failure);
    check(error, "cudaStreamEndCapture");
    return true;
  }

  bool replace(const Piece& piece, const Graph& graph) {
    if (!piece.child || graph.empty()) return !piece.child && graph.empty();
    if (cudaGraphExecChildGraphNodeSetParams(instance_, piece.child, graph.handle()) == cudaSuccess)
      return true;
    cudaGetLastError();
    return false;
  }

  void make_instance() {
    cudaGraph_t whole = nullptr;
    check(cudaGraphCreate(&whole, 0), "cudaGraphCreate");
    whole_ = Graph(whole);
    const cudaGraphNode_t* before = nullptr;
    for (Piece& piece : pieces_) {
      piece.child = nullptr;
      if (piece.graph.empty()) continue;
      check(cudaGraphAddChildGraphNode(&piece.child, whole, before, before ? 1 : 0, piece.graph.handle()),
            "cudaGraphAddChildGraphNode");
      before = &piece.child;
    }
    check(cudaGraphInstantiate(&instance_, whole, 0), "cudaGraphInstantiate");
  }

  // Runs that are queued end all the same.
  void drop_instance() {
    if (instance_) cudaGraphExecDestroy(std::exchange(instance_, nullptr));
    whole_ = Graph();
  }

  Ref<CudaRecorder> recorder_;
  std::vector<Piece> pieces_;
  Graph whole_;
  cudaGraphExec_t instance_ = nullptr;
};

Ref<device::Recording> CudaRecorder::make_recording() {
  return make_ref<CudaRecording>(Ref<CudaRecorder>(this));
}

}  // namespace

void refuse_recording(const char* op) {
  if (!t_recording) return;
  t_refused = true;
  TW_FAIL(kDevice, op, ": it takes numbers of the host, which cannot be recorded");
}

Ref<device::Recorder> make_cuda_recorder(int device, CachingAllocator& memory) {
  check_device(device);
  return make_ref<CudaRecorder>(device, memory);
}

}  // namespace tw::cuda
