// Convolutions through cuDNN: of each shape the first plan that its heuristics name, that gives the same
// result every time, that rounds no float to less, and that can be made; it is kept.
#include "cuda/device/convolution.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "cuda/device/cudnn/cudnn.h"
#include "cuda/device/scratch.h"
#include "cuda/device/streams.h"

namespace tw::cuda {

namespace {

using ops::ConvDirection;
using ops::ConvGeometry;
using Numbers = std::vector<int64_t>;

constexpr int64_t kMostWorkspace = int64_t{1} << 30;
constexpr int64_t kIds[] = {'x', 'w', 'y'};

cudnnDataType_t data_type(const Convolution& c) {
  switch (c.dtype) {
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat32:
      return CUDNN_DATA_FLOAT;
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    default:
      TW_FAIL(kNotImplemented, c.op, ": dtype ", c.dtype, " is not supported on CUDA");
  }
}

int64_t alignment_of(const void* data) {
  auto address = reinterpret_cast<uintptr_t>(data);
  return address % 16 == 0 ? 16 : address % 8 == 0 ? 8 : address % 4 == 0 ? 4 : 2;
}

// The geometry as cuDNN takes it: two or three dims, and as much padding behind as leaves no other number of
// outputs. Where even none leaves more, `cut` elements of the input's end are not part of the convolution.
struct Shape {
  int first;                     // of the geometry's dims
  Numbers sizes[3], strides[3];  // of x, w, y
  Numbers stride, dilation, before, after;
  bool cut = false;

  explicit Shape(const ConvGeometry& g) : first(g.dims == 3 ? 0 : 1) {
    Numbers in;
    for (int i = first; i < 3; i++) {
      int64_t room = g.in[i] + 2 * g.padding[i] - (g.dilation[i] * (g.kernel[i] - 1) + 1);
      bool fits = room / g.stride[i] + 1 == g.out[i];
      int64_t behind = fits ? g.padding[i] : g.padding_after(i);
      stride.push_back(g.stride[i]);
      dilation.push_back(g.dilation[i]);
      before.push_back(g.padding[i]);
      after.push_back(std::max<int64_t>(behind, 0));
      in.push_back(g.in[i] + std::min<int64_t>(behind, 0));
      cut = cut || behind < 0;
    }
    lay(0, g.images, g.in_channels, g.in, g.channels_last);
    lay(1, g.out_channels, g.in_channels / g.groups, g.kernel, g.weight_last);
    lay(2, g.images, g.out_channels, g.out, g.channels_last);
    std::copy(in.begin(), in.end(), sizes[0].begin() + 2);
  }

 private:
  void lay(int which, int64_t outer, int64_t channels, const std::array<int64_t, 3>& dims, bool last) {
    Numbers &size = sizes[which], &step = strides[which];
    size = {outer, channels};
    size.insert(size.end(), dims.begin() + first, dims.end());
    step.assign(size.size(), 1);
    int64_t next = last ? channels : 1;
    for (size_t d = size.size(); d-- > 2; next *= size[d]) step[d] = next;
    step[1] = last ? 1 : next;
    step[0] = last ? next : next * channels;
  }
};

CudnnDescriptor tensor(int which, const Shape& shape, cudnnDataType_t type, int64_t alignment,
                       const char* op) {
  CudnnDescriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR, op);
  auto rank = static_cast<int64_t>(shape.sizes[which].size());
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, shape.sizes[which].data());
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, shape.strides[which].data());
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, kIds[which]);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  d.finalize();
  return d;
}

CudnnDescriptor arithmetic(const Shape& shape, cudnnDataType_t compute, const char* op) {
  CudnnDescriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, op);
  auto dims = static_cast<int64_t>(shape.stride.size());
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, compute);
  d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, dims);
  d.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, dims, shape.stride.data());
  d.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, dims, shape.dilation.data());
  d.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, dims, shape.before.data());
  d.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, dims, shape.after.data());
  d.finalize();
  return d;
}

// What an operation calls its parts.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};

Names names_of(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvDirection::kInput:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

// Later versions of cuDNN take the device that is current; earlier ones of its version 9 want the handle.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
constexpr auto kGraphHandle = CUDNN_ATTR_OPERATIONGRAPH_HANDLE;
constexpr auto kPlanHandle = CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
#pragma GCC diagnostic pop

CudnnDescriptor graph_of(const Convolution& c, const Shape& shape, cudnnHandle_t handle) {
  cudnnDataType_t type = data_type(c), compute = c.dtype == DType::kFloat64 ? type : CUDNN_DATA_FLOAT;
  CudnnDescriptor convolution = arithmetic(shape, compute, c.op);
  CudnnDescriptor x = tensor(0, shape, type, alignment_of(c.x), c.op);
  CudnnDescriptor w = tensor(1, shape, type, alignment_of(c.w), c.op);
  CudnnDescriptor y = tensor(2, shape, type, alignment_of(c.y), c.op);
  Names names = names_of(c.direction);
  CudnnDescriptor operation(names.type, c.op);
  operation.set(names.convolution, convolution);
  operation.set(names.x, x);
  operation.set(names.w, w);
  operation.set(names.y, y);
  bool wide = compute == CUDNN_DATA_DOUBLE;
  const double one = 1, zero = 0;
  const float narrow_one = 1, narrow_zero = 0;
  auto scale = [&](cudnnBackendAttributeName_t name, const double& value, const float& narrow) {
    if (wide)
      operation.set(name, CUDNN_TYPE_DOUBLE, value);
    else
      operation.set(name, CUDNN_TYPE_FLOAT, narrow);
  };
  scale(names.alpha, one, narrow_one);
  scale(names.beta, zero, narrow_zero);
  operation.finalize();
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, c.op);
  graph.set(kGraphHandle, CUDNN_TYPE_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.finalize();
  return graph;
}

// Whether an engine gives the same result every time, and of float32 no less than float32.
bool is_exact(const CudnnDescriptor& config, DType dtype, const char* op) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, op);
  cudnnBackendDescriptor_t handle = engine.handle();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                             CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
  return std::none_of(notes, notes + count, [&](cudnnBackendNumericalNote_t note) {
    bool narrows =
        note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE || note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    return note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC || (narrows && dtype == DType::kFloat32);
  });
}

std::vector<CudnnDescriptor> configs_of(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode,
                                        const char* op) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, op);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  std::vector<CudnnDescriptor> configs;
  if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) return configs;
  int64_t count = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < count; i++) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, op);
    handles.push_back(configs.back().handle());
  }
  // Fewer may come than were announced.
  int64_t come =
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, handles.data());
  while (static_cast<int64_t>(configs.size()) > come) configs.pop_back();
  return configs;
}

struct Plan {
  CudnnDescriptor plan;
  int64_t workspace_bytes;
};

Plan make_plan(const Convolution& c, const Shape& shape, cudnnHandle_t handle) {
  CudnnDescriptor graph = graph_of(c, shape, handle);
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (const CudnnDescriptor& config : configs_of(graph, mode, c.op)) {
      if (!is_exact(config, c.dtype, c.op)) continue;
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, c.op);
      plan.set(kPlanHandle, CUDNN_TYPE_HANDLE, handle);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (plan.try_finalize() != CUDNN_STATUS_SUCCESS) continue;
      int64_t bytes = 0;
      plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
      if (bytes <= kMostWorkspace) return {std::move(plan), bytes};
    }
  TW_FAIL(kDevice, c.op, ": cuDNN has no plan for ", c.dtype, " with ", c.g.in_channels, " and ",
          c.g.out_channels, " channels in ", c.g.groups, " groups and a kernel of ", c.g.kernel[0], " x ",
          c.g.kernel[1], " x ", c.g.kernel[2]);
}

auto key_of(const Convolution& c) {
  const ConvGeometry& g = c.g;
  return std::make_tuple(current_device(), c.direction, c.dtype, g.images, g.groups, g.in_channels,
                         g.out_channels, g.in, g.out, g.kernel, g.stride, g.padding, g.dilation, g.dims,
                         g.channels_last, g.weight_last, alignment_of(c.x), alignment_of(c.w),
                         alignment_of(c.y));
}

size_t bytes_of_x(const Convolution& c) {
  return static_cast<size_t>(c.g.images * c.g.in_channels * c.g.in_positions()) * size_of(c.dtype);
}

}  // namespace

void run_convolution(const Convolution& c, cudaStream_t stream) {
  // A handle serves one thread at a time; what it queues runs later.
  static std::mutex mutex;
  static auto* handles = new std::map<int, cudnnHandle_t>;
  static auto* plans = new std::map<decltype(key_of(c)), std::unique_ptr<Plan>>;
  std::lock_guard lock(mutex);
  cudnnHandle_t& handle = (*handles)[current_device()];
  if (!handle) check_cudnn(cudnn(c.op).create(&handle), c.op);
  check_cudnn(cudnn(c.op).set_stream(handle, stream), c.op);
  Shape shape(c.g);
  std::unique_ptr<Plan>& plan = (*plans)[key_of(c)];
  if (!plan) plan = std::make_unique<Plan>(make_plan(c, shape, handle));
  if (shape.cut && c.direction == ConvDirection::kInput)
    check(cudaMemsetAsync(c.x, 0, bytes_of_x(c), stream), c.op);
  DeviceScratch workspace(static_cast<size_t>(plan->workspace_bytes));
  void* data[] = {c.x, c.w, c.y};
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, c.op);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, kIds);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, data);
  void* scratch = workspace.as<void>();
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, scratch);
  pack.finalize();
  check_cudnn(cudnn(c.op).execute(handle, plan->plan.handle(), pack.handle()), c.op);
}

}  // namespace tw::cuda
