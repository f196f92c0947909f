// DLPack both ways (https://dmlc.github.io/dlpack/latest/): tensors shared with other libraries without a
// copy.
#include <pybind11/stl.h>

#include "native.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;

namespace {

// The structs of DLPack 0.x, whose layout every library agrees on.
struct DLDevice {
  int32_t device_type;  // 1: CPU
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null for row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

constexpr int kCpu = 1;

DLDataType to_dl(DType dtype) {
  auto bits = static_cast<uint8_t>(size_of(dtype) * 8);
  if (dtype == DType::kBool) return {6, 8, 1};
  if (dtype == DType::kUInt8) return {1, 8, 1};
  if (dtype == DType::kBFloat16) return {4, 16, 1};
  switch (kind_of(dtype)) {
    case DTypeKind::kInt:
      return {0, bits, 1};
    case DTypeKind::kFloat:
      return {2, bits, 1};
    default:
      return {5, bits, 1};
  }
}

DType from_dl(DLDataType type) {
  for (int i = 0; i < kDTypeCount; i++) {
    DLDataType candidate = to_dl(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  TW_FAIL(kType, "from_dlpack: element type (code ", static_cast<int>(type.code), ", ",
          static_cast<int>(type.bits), " bits, ", type.lanes, " lanes) is not supported");
}

struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

pb::capsule export_tensor(const Tensor& tensor) {
  TW_CHECK(!tensor->needs_grad(), kRuntime,
           "__dlpack__: a tensor that requires grad cannot be shared; detach() it");
  TW_CHECK(tensor->device().type == device::DeviceType::kCpu, kNotImplemented,
           "__dlpack__: only memory of the CPU can be shared so far, the tensor lies on ", tensor->device());
  auto* e = new Exported;
  e->tensor = tensor;
  e->shape.assign(tensor->sizes.begin(), tensor->sizes.end());
  e->strides.assign(tensor->strides.begin(), tensor->strides.end());
  e->managed.dl_tensor = {tensor->data(),
                          {kCpu, 0},
                          static_cast<int32_t>(tensor->rank()),
                          to_dl(tensor->dtype),
                          e->shape.data(),
                          e->strides.data(),
                          0};
  e->managed.manager_ctx = e;
  e->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return pb::capsule(&e->managed, "dltensor", [](PyObject* object) {
    // A capsule that was taken is renamed; what nobody took is ours to free.
    if (!PyCapsule_IsValid(object, "dltensor")) return;
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(object, "dltensor"));
    managed->deleter(managed);
  });
}

Tensor import_tensor(const pb::capsule& capsule) {
  TW_CHECK(std::string_view(capsule.name()) == "dltensor", kRuntime,
           "from_dlpack: the capsule is no DLPack tensor or was taken before");
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const DLTensor& source = managed->dl_tensor;
  TW_CHECK(source.device.device_type == kCpu, kDevice,
           "from_dlpack: only CPU memory is supported, got device type ", source.device.device_type);
  DType dtype = from_dl(source.dtype);
  ir::Geometry geometry;
  geometry.sizes.append(source.shape, source.shape + source.ndim);
  geometry.strides = contiguous_strides(geometry.sizes);
  if (source.strides) std::copy_n(source.strides, source.ndim, geometry.strides.begin());
  int64_t span = 1;
  for (int i = 0; i < source.ndim; i++) {
    TW_CHECK(geometry.strides[i] >= 0, kValue, "from_dlpack: negative strides are not supported");
    span += (geometry.sizes[i] - 1) * geometry.strides[i];
  }
  if (numel(geometry.sizes) == 0) span = 0;
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  auto release = [managed] {
    pb::gil_scoped_acquire lock;
    if (managed->deleter) managed->deleter(managed);
  };
  Tensor result(new eager::TensorImpl);
  result->storage =
      make_ref<eager::Storage>(device::Device{}, static_cast<char*>(source.data) + source.byte_offset,
                               static_cast<size_t>(span * size_of(dtype)), release);
  result->dtype = dtype;
  result->set_geometry(std::move(geometry));
  return result;
}

}  // namespace

void bind_dlpack(pb::module_& m) {
  m.def("to_dlpack", export_tensor);
  m.def("from_dlpack", import_tensor);
}

}  // namespace tw::py
