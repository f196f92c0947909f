// multi_tensor_norm, multi_tensor_clip, multi_tensor_unscale. The norm reads each element once, in double, a
// launch a tensor, and one for the sum; the others read and write each once. Floor: bytes over the bandwidth.
//
// Per element: 4 bytes and 4 operations (multi_tensor_norm, float32).
#include "ops/optim/clipping.h"

#include "cuda/common/functions.h"
#include "cuda/common/reduce.h"
#include "cuda/common/tensor_lists.h"
#include "ops/optim/clipping_formula.h"
#include "ops/pointwise/predicate_formula.h"
#include "ops/reduction/norm_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

using Norm = ops::NormFormula<Functions, double>;

// What a tensor's elements combine to, and what those of all tensors do.
struct NormOfTensor {
  Norm norm;
  TW_DEVICE double none() const { return norm.none(); }
  template <class C>
  TW_DEVICE double map(C x) const {
    return norm.map(static_cast<double>(x));
  }
  TW_DEVICE double combine(double a, double b) const { return norm.combine(a, b); }
  TW_DEVICE double finish(double total) const { return total; }
};
struct NormOfAll {
  Norm norm;
  TW_DEVICE double none() const { return norm.none(); }
  // Of order 0, of the tensors' norms.
  TW_DEVICE double map(double part) const {
    return norm.order == ops::NormOrder::kZero ? norm.map(part) : part;
  }
  TW_DEVICE double combine(double a, double b) const { return norm.combine(a, b); }
  TW_DEVICE double finish(double total) const { return norm.finish(total); }
};

void norm_kernel(KernelContext& k) {
  double p = k.attrs<ops::NormAttrs>().p;
  Norm norm = Norm::of(p, ops::norm_order(p));
  auto count = static_cast<int64_t>(k.inputs.size());
  DeviceScratch parts(static_cast<size_t>(count) * sizeof(double));
  Dims none, sizes{count}, step{1};
  for (int64_t i = 0; i < count; i++) {
    const Operand& x = k.in(static_cast<int>(i));
    Operand part{parts.as<double>() + i, &none, &none, DType::kFloat64};
    dispatch_float(x.dtype, k.op, [&]<class T>() {
      reduce<T, double>(x, part, mask_of({}, x.rank()), k.op, NormOfTensor{norm});
    });
  }
  reduce<double, double>({parts.as<double>(), &sizes, &step, DType::kFloat64}, k.out(), 1, k.op,
                         NormOfAll{norm});
}

struct ClipRule {
  const void* norm;
  DType norm_dtype;
  double max_norm;

  template <class C>
  TW_DEVICE void operator()(C& value) const {
    double factor = ops::clip_factor(max_norm, load_as<double>(norm, norm_dtype, 0));
    if (ops::clips(factor)) value *= static_cast<C>(factor);
  }
};

void clip_kernel(KernelContext& k) {
  const std::span<const Operand> lists[] = {k.list(0)};
  const Operand& norm = k.list(1)[0];
  ClipRule rule{norm.data, norm.dtype, k.attrs<ops::ClipAttrs>().max_norm};
  dispatch_full_float(widest_of(lists), k.op,
                      [&]<class C>() { step_over<C>(k.op, lists, 0b1, [&](int) { return rule; }); });
}

struct UnscaleRule {
  double factor;
  uint8_t* found;

  template <class C>
  TW_DEVICE void operator()(C& value) const {
    if (!ops::IsFiniteFormula()(value)) *found = 1;  // any number of threads: all write the same
    value *= static_cast<C>(factor);
  }
};

void unscale_kernel(KernelContext& k) {
  const std::span<const Operand> lists[] = {k.list(0)};
  UnscaleRule rule{k.attrs<ops::UnscaleAttrs>().factor, static_cast<uint8_t*>(k.list(1)[0].data)};
  dispatch_full_float(widest_of(lists), k.op,
                      [&]<class C>() { step_over<C>(k.op, lists, 0b1, [&](int) { return rule; }); });
}

}  // namespace

void kernels_clipping(device::KernelTable& table) {
  table.add("multi_tensor_norm", norm_kernel);
  table.add("multi_tensor_clip", clip_kernel);
  table.add("multi_tensor_unscale", unscale_kernel);
}

}  // namespace tw::cuda
