// Tensors over memory that others own, and the way back: NumPy arrays and raw storages.
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/memory_order.h"
#include "eager/dispatch.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "eager/placing.h"
#include "eager/promotion.h"
#include "ir/emitter.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;

namespace {

// Numbers of NumPy's array interface, e.g. "<f4".
const char* numpy_code(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "?";
    case DType::kUInt8:
      return "u1";
    case DType::kInt8:
      return "i1";
    case DType::kInt16:
      return "i2";
    case DType::kInt32:
      return "i4";
    case DType::kInt64:
      return "i8";
    case DType::kFloat16:
      return "f2";
    case DType::kFloat32:
      return "f4";
    case DType::kFloat64:
      return "f8";
    case DType::kComplex64:
      return "c8";
    case DType::kComplex128:
      return "c16";
    default:
      TW_FAIL(kType, "numpy: NumPy has no dtype for ", dtype, "; convert it first");
  }
}

DType dtype_of_array(const pb::array& array) {
  auto kind = array.dtype().kind();
  auto size = array.dtype().itemsize();
  for (int i = 0; i < kDTypeCount; i++) {
    DType dtype = static_cast<DType>(i);
    if (dtype == DType::kBFloat16 || size_of(dtype) != size) continue;
    const char expected[] = {'b', 'u', 'i', 'i', 'i', 'i', 'f', 'f', 'f', 'f', 'c', 'c'};
    if (expected[i] == kind) return dtype;
  }
  TW_FAIL(kType, "from_numpy: arrays of dtype ", pb::str(array.dtype()).cast<std::string>(),
          " are not supported");
}

// A global tensor is put together first, and what lies on another device comes to the CPU.
Tensor here(const Tensor& tensor) {
  Tensor whole = tensor->global ? eager::whole_here(*tensor) : tensor;
  bool on_cpu = whole->device().type == device::DeviceType::kCpu;
  return on_cpu ? whole : eager::to_device(eager::alias(*whole), device::Device{});
}

pb::array to_numpy(const pb::object& object) {
  Tensor given = object.cast<Tensor>();
  TW_CHECK(given->device().type == device::DeviceType::kCpu, kType, "numpy: the tensor lies on ",
           given->device(), "; call cpu() first");
  Tensor tensor = here(given);
  int64_t size = size_of(tensor->dtype);
  std::vector<pb::ssize_t> sizes(tensor->sizes.begin(), tensor->sizes.end()), strides;
  for (int64_t stride : tensor->strides) strides.push_back(stride * size);
  // The array keeps the storage alive, not the Python tensor, whose own data may be replaced.
  auto* keep = new Ref<eager::Storage>(tensor->storage);
  pb::capsule owner(keep, [](void* p) { delete static_cast<Ref<eager::Storage>*>(p); });
  pb::array array(pb::dtype(numpy_code(tensor->dtype)), sizes, strides, tensor->data(), owner);
  if (tensor->storage->read_only) array.attr("flags").attr("writeable") = false;
  return array;
}

// Zero-copy; `array` stays alive as long as the tensor's storage.
Tensor from_numpy(const pb::array& array) {
  DType dtype = dtype_of_array(array);
  TW_CHECK(array.dtype().byteorder() != '>', kType, "from_numpy: big-endian arrays are not supported");
  ir::Geometry geometry;
  int64_t size = size_of(dtype), span = 1;
  for (int i = 0; i < array.ndim(); i++) {
    int64_t stride = array.strides(i);
    TW_CHECK(stride >= 0, kValue,
             "from_numpy: arrays with negative strides are not supported; copy() the array");
    TW_CHECK(stride % size == 0, kValue, "from_numpy: strides must be multiples of the element size");
    geometry.sizes.push_back(array.shape(i));
    geometry.strides.push_back(stride / size);
    span += (array.shape(i) - 1) * (stride / size);
  }
  if (numel(geometry.sizes) == 0) span = 0;
  auto* keep = new pb::array(array);
  auto release = [keep] {
    pb::gil_scoped_acquire lock;
    delete keep;
  };
  Tensor result(new eager::TensorImpl);
  result->storage = make_ref<eager::Storage>(device::Device{}, const_cast<void*>(array.data()),
                                             static_cast<size_t>(span * size), release);
  result->storage->read_only = !array.writeable();
  result->dtype = dtype;
  result->set_geometry(std::move(geometry));
  return result;
}

Scalar to_scalar(const pb::object& number) {
  if (pb::isinstance<pb::bool_>(number)) return Scalar(number.cast<bool>());
  if (pb::isinstance<pb::int_>(number)) {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    TW_CHECK(!overflow, kRuntime, "tensor: ", pb::str(number).cast<std::string>(), " does not fit 64 bits");
    return Scalar(static_cast<int64_t>(value));
  }
  if (PyComplex_Check(number.ptr())) return Scalar(number.cast<std::complex<double>>());
  return Scalar(number.cast<double>());
}

// A number as an element; unsigned integers wrap small negative ones, as in PyTorch.
template <class T>
T element_of(const Scalar& scalar, DType dtype) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr double kHighest = static_cast<double>(std::numeric_limits<T>::max());
    constexpr double kLowest =
        std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min()) : -kHighest;
    // The largest int64 is no double: what rounds up to 2^63 does not fit.
    bool fits = scalar.is_integral() && sizeof(T) == 8;
    if (!fits) {
      double value = std::trunc(scalar.to_double());
      fits = value >= kLowest && (sizeof(T) == 8 ? value < kHighest : value <= kHighest);
    }
    TW_CHECK(fits, kRuntime, "tensor: ", scalar, " does not fit the dtype ", dtype);
  }
  if constexpr (!is_complex_type<T>)
    TW_CHECK(scalar.kind() != DTypeKind::kComplex, kRuntime,
             "tensor: a complex number does not fit the dtype ", dtype);
  return scalar.to<T>();
}

// Python (or NumPy) numbers in row-major order; the highest kind among them decides the dtype.
Tensor from_values(const pb::list& values, const std::vector<int64_t>& shape, std::optional<DType> wanted) {
  std::vector<Scalar> scalars;
  scalars.reserve(values.size());
  DTypeKind kind = values.empty() ? DTypeKind::kFloat : DTypeKind::kBool;
  for (pb::handle value : values) {
    PyObject* object = value.ptr();
    bool number = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
                  PyComplex_Check(object) || PyIndex_Check(object);
    TW_CHECK(number, kType, "tensor: a number is wanted, got ", Py_TYPE(object)->tp_name);
    if (PyIndex_Check(object) && !PyLong_Check(object)) {
      scalars.push_back(Scalar(pb::int_(pb::reinterpret_borrow<pb::object>(value)).cast<int64_t>()));
    } else {
      scalars.push_back(to_scalar(pb::reinterpret_borrow<pb::object>(value)));
    }
    kind = std::max(kind, scalars.back().kind());
  }
  Tensor result =
      eager::empty_for_host(Dims(shape.begin(), shape.end()), wanted.value_or(default_dtype(kind)));
  dispatch_all(result->dtype, "tensor", [&]<class T>() {
    auto* out = static_cast<T*>(result->data());
    for (const Scalar& scalar : scalars) *out++ = element_of<T>(scalar, result->dtype);
  });
  return result;
}

pb::object item(const Tensor& tensor) {
  Scalar value = eager::item(*tensor);
  switch (value.kind()) {
    case DTypeKind::kBool:
      return pb::bool_(value.to_bool());
    case DTypeKind::kInt:
      return pb::int_(value.to_int());
    case DTypeKind::kFloat:
      return pb::float_(value.to_double());
    default:
      return pb::reinterpret_steal<pb::object>(
          PyComplex_FromDoubles(value.to_complex().real(), value.to_complex().imag()));
  }
}

pb::object to_list(const eager::TensorImpl& tensor, const char* data, int64_t dim) {
  if (dim == tensor.rank()) {
    Tensor one = eager::alias(
        tensor, {{}, {}, (data - static_cast<char*>(tensor.storage->data())) / size_of(tensor.dtype)});
    return item(one);
  }
  pb::list result(tensor.sizes[dim]);
  for (int64_t i = 0; i < tensor.sizes[dim]; i++)
    result[i] = to_list(tensor, data + i * tensor.strides[dim] * size_of(tensor.dtype), dim + 1);
  return result;
}

pb::bytes to_bytes(const Tensor& given) {
  Tensor tensor = here(given);
  Tensor dense =
      tensor->contiguous ? tensor : eager::as_tensor(ir::op<"row_major">(ir::Value(eager::alias(*tensor))));
  return pb::bytes(static_cast<const char*>(dense->data()), dense->count() * size_of(dense->dtype));
}

Tensor from_bytes(const pb::bytes& data, const std::vector<int64_t>& size, DType dtype) {
  Tensor result = eager::empty_for_host(Dims(size.begin(), size.end()), dtype);
  std::string_view view(data);
  TW_CHECK(static_cast<int64_t>(view.size()) == result->count() * size_of(dtype), kValue,
           "from_bytes: ", result->count() * size_of(dtype), " bytes are wanted, got ", view.size());
  std::memcpy(result->data(), view.data(), view.size());
  return result;
}

void set_geometry(const Tensor& tensor, const Tensor& source, int64_t offset,
                  const std::vector<int64_t>& size, const std::vector<int64_t>& stride) {
  ir::Geometry geometry{Dims(size.begin(), size.end()), Dims(stride.begin(), stride.end()), offset};
  TW_CHECK(size.size() == stride.size(), kValue, "set_: size and stride must have one length, got ", size,
           " and ", stride);
  eager::check_window(*source->storage, geometry, tensor->dtype, "set_");
  tensor->storage = source->storage;
  tensor->set_geometry(std::move(geometry));
}

}  // namespace

void bind_memory(pb::module_& m) {
  // np.asarray, without importing NumPy before it is needed.
  m.def("as_array", [](const pb::object& object) {
    pb::array array = pb::array::ensure(object);
    if (!array) throw pb::error_already_set();
    return array;
  });
  m.def("to_numpy", to_numpy);
  m.def("from_numpy", from_numpy);
  m.def("from_scalar",
        [](const pb::object& number, DType dtype) { return eager::scalar_tensor(to_scalar(number), dtype); });
  m.def("from_values", from_values);
  m.def("empty", [](const std::vector<int64_t>& size, DType dtype) {
    Dims sizes(size.begin(), size.end());
    const sbp::Layout* creation = eager::modes().creation;
    return creation ? eager::empty_global(sizes, dtype, sbp::LayoutRef(creation))
                    : eager::empty(sizes, dtype);
  });
  m.def(
      "empty_strided", [](const std::vector<int64_t>& size, const std::vector<int64_t>& stride, DType dtype) {
        TW_CHECK(size.size() == stride.size(), kValue, "empty_strided: size and stride must have one length");
        ir::Geometry window{Dims(size.begin(), size.end()), Dims(stride.begin(), stride.end()), 0};
        int64_t span = 1, reach = 0;
        for (size_t i = 0; i < size.size(); i++)
          TW_CHECK(stride[i] >= 0 && !__builtin_mul_overflow(size[i] - 1, stride[i], &reach) &&
                       !__builtin_add_overflow(span, reach, &span),
                   kValue, "empty_strided: strides that memory can hold are wanted, got ", stride);
        Tensor flat = eager::empty({numel(window.sizes) ? span : 0}, dtype);
        flat->set_geometry(std::move(window));
        return flat;
      });
  m.def("to_bytes", to_bytes);
  m.def("from_bytes", from_bytes);
  m.def("item", item);
  m.def("to_list", [](const Tensor& given) {
    Tensor t = here(given);
    return to_list(*t, static_cast<char*>(t->data()), 0);
  });
  m.def("is_contiguous", [](const Tensor& t) { return t->contiguous; });
  m.def("is_channels_last", [](const Tensor& t) { return is_channels_last(t->sizes, t->strides); });
  m.def("channels_last_strides", [](const std::vector<int64_t>& size) {
    Dims strides = channels_last_strides(Dims(size.begin(), size.end()));
    return std::vector<int64_t>(strides.begin(), strides.end());
  });
  m.def("dense_strides", [](const Tensor& t) {
    Window window{&t->sizes, &t->strides};
    Dims strides = pointwise_strides(t->sizes, {&window, 1});
    return std::vector<int64_t>(strides.begin(), strides.end());
  });
  m.def("storage_bytes", [](const Tensor& t) { return t->storage->size_bytes(); });
  m.def("storage_ptr", [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t->storage->data()); });
  m.def("same_storage", [](const Tensor& a, const Tensor& b) { return a->storage == b->storage; });
  m.def("set_geometry", set_geometry);
  m.def("is_read_only", [](const Tensor& t) { return t->storage->read_only; });
  m.def("result_type", [](const std::vector<Tensor>& tensors) {
    ir::Values values(tensors.begin(), tensors.end());
    return eager::result_type(values);
  });
  m.def("number_operand",
        [](const pb::object& number) { return eager::as_tensor(eager::number_operand(to_scalar(number))); });
}

}  // namespace tw::py
