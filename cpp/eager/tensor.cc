#include "eager/tensor.h"

#include <bit>

#include "eager/global.h"
#include "eager/modes.h"
#include "eager/node.h"
#include "eager/placing.h"
#include "eager/tracer.h"

namespace tw::eager {

TensorImpl::TensorImpl() = default;

TensorImpl::~TensorImpl() {
  if (accumulator) accumulator->forget_leaf();
  if (retains_grad && grad_fn)
    for (auto& watch : grad_fn->watches)
      if (watch.retain == this) watch.retain = nullptr;
}

void TensorImpl::set_geometry(ir::Geometry geometry) {
  sizes = std::move(geometry.sizes);
  strides = std::move(geometry.strides);
  offset = geometry.offset;
  contiguous = is_contiguous(sizes, strides);
}

Tensor empty(const Dims& sizes, DType dtype) { return empty(sizes, dtype, modes().device); }

Tensor empty(const Dims& sizes, DType dtype, device::Device device) {
  int64_t count = numel(sizes), size_bytes = 0;
  TW_CHECK(!__builtin_mul_overflow(count, size_of(dtype), &size_bytes), kOutOfMemory, "a tensor of shape ",
           sizes, " and dtype ", dtype, " does not fit the address space");
  Tensor result = make_ref<TensorImpl>();
  Tracer* tracer = modes().tracer;
  result->storage = tracer ? tracer->make_storage(device, static_cast<size_t>(size_bytes))
                           : make_ref<Storage>(device, static_cast<size_t>(size_bytes));
  result->dtype = dtype;
  result->sizes = sizes;
  result->strides = contiguous_strides(sizes);
  result->inference = modes().inference;
  return result;
}

Tensor empty_for_host(const Dims& sizes, DType dtype) {
  Tensor result;
  {
    TracerPause pause;
    result = empty(sizes, dtype, host_device());
  }
  if (Tracer* tracer = modes().tracer) tracer->filled_by_host(result->storage);
  return result;
}

Tensor scalar_tensor(const Scalar& value, DType dtype) {
  Tensor result = empty_for_host({}, dtype);
  dispatch_all(dtype, "scalar_tensor", [&]<class T>() { *static_cast<T*>(result->data()) = value.to<T>(); });
  return result;
}

const Tensor& wrapped_number(const Scalar& value, DType dtype) {
  // A small cache: the numbers in a program's expressions come back on every step.
  struct Entry {
    Scalar value;
    Tensor tensor;
  };
  constexpr int kEntries = 256;
  static thread_local std::unique_ptr<Entry[]> cache(new Entry[kEntries]);
  uint64_t bits =
      value.kind() == DTypeKind::kComplex ? std::bit_cast<uint64_t>(value.to_complex().imag()) : 0;
  bits ^= value.is_integral() ? static_cast<uint64_t>(value.to_int())
                              : std::bit_cast<uint64_t>(value.to_double());
  uint64_t hash = (bits + static_cast<uint64_t>(dtype)) * 0x9E3779B97F4A7C15;
  Entry& entry = cache[hash >> 56];
  // Bitwise: -0.0 equals 0.0 but is another number, and NaN equals nothing.
  bool same = entry.tensor && entry.tensor->dtype == dtype && entry.value.kind() == value.kind() &&
              (value.is_integral() ? entry.value.to_int() == value.to_int()
                                   : std::bit_cast<uint64_t>(entry.value.to_complex().real()) ==
                                             std::bit_cast<uint64_t>(value.to_complex().real()) &&
                                         std::bit_cast<uint64_t>(entry.value.to_complex().imag()) ==
                                             std::bit_cast<uint64_t>(value.to_complex().imag()));
  if (!same) {
    entry.value = value;
    entry.tensor = scalar_tensor(value, dtype);
    entry.tensor->wrapped_number = true;
    entry.tensor->inference = false;
  }
  return entry.tensor;
}

Tensor alias(const TensorImpl& tensor) { return alias(tensor, tensor.geometry()); }

Tensor alias(const TensorImpl& tensor, const ir::Geometry& geometry) {
  Tensor result = make_ref<TensorImpl>();
  result->storage = tensor.storage;
  result->dtype = tensor.dtype;
  result->inference = tensor.inference;
  if (tensor.global) [[unlikely]] {
    bool whole = geometry.sizes == tensor.sizes && geometry.offset == tensor.offset;
    TW_CHECK(whole || modes().tracer, kInternal, "alias: a window on a global tensor is made by an op");
    copy_global(tensor, *result);
  }
  result->set_geometry(geometry);
  return result;
}

Scalar item(const TensorImpl& tensor) {
  TW_CHECK(tensor.count() == 1, kRuntime, "item: a tensor of one element is wanted, got shape ",
           tensor.sizes);
  TW_CHECK(!modes().tracer || tensor.wrapped_number, kRuntime,
           "item: a traced function cannot read the value of a tensor; use tensor operations instead");
  if (tensor.global) return item(*whole_here(tensor));
  if (tensor.device().type != device::DeviceType::kCpu)
    return item(*to_device(alias(tensor), device::Device{}));
  return dispatch_all(tensor.dtype, "item", [&]<class T>() -> Scalar {
    T value = *static_cast<const T*>(tensor.data());
    if constexpr (std::is_same_v<T, bool>)
      return Scalar(*static_cast<const uint8_t*>(tensor.data()) != 0);
    else if constexpr (is_complex_type<T>)
      return Scalar(complex128(value));
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<int64_t>(value));
    else
      return Scalar(static_cast<double>(value));
  });
}

void check_window(const Storage& storage, const ir::Geometry& window, DType dtype, const char* op) {
  if (numel(window.sizes) == 0) return;
  int64_t last = window.offset, reach = 0;
  bool inside = last >= 0;
  for (size_t i = 0; i < window.sizes.size() && inside; i++)
    inside = window.strides[i] >= 0 &&
             !__builtin_mul_overflow(window.sizes[i] - 1, window.strides[i], &reach) &&
             !__builtin_add_overflow(last, reach, &last);
  TW_CHECK(inside && last < static_cast<int64_t>(storage.size_bytes()) / size_of(dtype), kRuntime, op,
           ": sizes ", window.sizes, " with strides ", window.strides, " and offset ", window.offset,
           " leave the storage of ", storage.size_bytes(), " bytes");
}

void check_writable(const TensorImpl& tensor, const char* op) {
  TW_CHECK(!tensor.storage->read_only, kRuntime, op,
           ": the tensor's memory is read-only; clone() it to write to it");
  TW_CHECK(tensor.contiguous || !may_overlap(tensor.sizes, tensor.strides), kRuntime, op,
           ": several elements of the written tensor share one memory location (shape ", tensor.sizes,
           ", strides ", tensor.strides, "); clone() it first");
}

}  // namespace tw::eager
