// multi_tensor_norm and multi_tensor_clip. The norm reads each element once, in double, a launch a tensor,
// and one for the sum; clipping reads and writes each once, unless the norm is small enough. Floor: bytes
// over the bandwidth.
#include "ops/optim/clipping.h"

#include <cmath>

#include "cuda/common/reduce.h"
#include "cuda/common/tensor_lists.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

enum class Norm { kOne, kTwo, kMost };

// Σ |x|, Σ x² or max |x|; `root`: the total is a norm, not a part of one.
struct NormOf {
  Norm kind;
  bool parts;  // what is read are parts already
  bool root;
  TW_DEVICE double none() const { return 0; }
  template <class C>
  TW_DEVICE double map(C x) const {
    double value = static_cast<double>(x);
    if (parts) return value;
    return kind == Norm::kTwo ? value * value : std::fabs(value);
  }
  TW_DEVICE double combine(double a, double b) const {
    return kind == Norm::kMost ? (b > a || b != b ? b : a) : a + b;  // NaN wins
  }
  TW_DEVICE double finish(double total) const {
    return root && kind == Norm::kTwo ? std::sqrt(total) : total;
  }
};

Norm kind_of_norm(double p, const char* op) {
  TW_CHECK(p == 1 || p == 2 || p == INFINITY, kNotImplemented, op, ": a norm of order ", p,
           " is not supported on CUDA");
  return p == 1 ? Norm::kOne : p == 2 ? Norm::kTwo : Norm::kMost;
}

void norm_kernel(KernelContext& k) {
  Norm kind = kind_of_norm(k.attrs<ops::NormAttrs>().p, k.op);
  auto count = static_cast<int64_t>(k.inputs.size());
  DeviceScratch parts(static_cast<size_t>(count) * sizeof(double));
  Dims none, sizes{count}, step{1};
  for (int64_t i = 0; i < count; i++) {
    const Operand& x = k.in(static_cast<int>(i));
    Operand part{parts.as<double>() + i, &none, &none, DType::kFloat64};
    dispatch_float(x.dtype, k.op, [&]<class T>() {
      reduce<T, double, double>(x, part, mask_of({}, x.rank()), k.op, NormOf{kind, false, false});
    });
  }
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    reduce<double, double, T>({parts.as<double>(), &sizes, &step, DType::kFloat64}, k.out(), 1, k.op,
                              NormOf{kind, true, true});
  });
}

template <class C>
struct ClipRule {
  const void* norm;
  DType norm_dtype;
  double max_norm;

  TW_DEVICE void operator()(C* values) const {
    double factor = max_norm / (load_as<double>(norm, norm_dtype, 0) + 1e-6);
    if (factor < 1) values[0] *= static_cast<C>(factor);
  }
};

void clip_kernel(KernelContext& k) {
  const std::span<const Operand> lists[] = {k.list(0)};
  const Operand& norm = k.list(1)[0];
  double max_norm = k.attrs<ops::ClipAttrs>().max_norm;
  dispatch_full_float(widest_of(lists), k.op, [&]<class C>() {
    step_over<C>(k.op, lists, 0b1, [&](int) { return ClipRule<C>{norm.data, norm.dtype, max_norm}; });
  });
}

}  // namespace

void kernels_clipping(device::KernelTable& table) {
  table.add("multi_tensor_norm", norm_kernel);
  table.add("multi_tensor_clip", clip_kernel);
}

}  // namespace tw::cuda
