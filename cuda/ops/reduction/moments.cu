// moments: the variance (or its root) and the mean. The mean first, then the squares of what is left, in
// double. Reads the input twice; a few flops an element. Floor: the input's bytes over the bandwidth, once.
//
// Per element: 8 bytes and 10 operations (var, float32).
#include <algorithm>
#include <cmath>

#include "cuda/common/copy.h"
#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

struct MeanOf {
  double count;
  TW_DEVICE double none() const { return 0; }
  template <class C>
  TW_DEVICE double map(C x) const {
    return static_cast<double>(x);
  }
  TW_DEVICE double combine(double a, double b) const { return a + b; }
  TW_DEVICE double finish(double total) const { return total / count; }
};

struct Variance {
  const double* means;  // of each result
  double mean, freedom;
  bool root;
  TW_DEVICE Variance of_result(int64_t at) const { return {means, means[at], freedom, root}; }
  TW_DEVICE double none() const { return 0; }
  template <class C>
  TW_DEVICE double map(C x) const {
    double d = static_cast<double>(x) - mean;
    return d * d;
  }
  TW_DEVICE double combine(double a, double b) const { return a + b; }
  TW_DEVICE double finish(double total) const {
    double variance = total / freedom;
    return root ? std::sqrt(variance) : variance;
  }
};

void moments_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::MomentsAttrs>();
  const Operand &in = k.in(0), &out = k.out(0);
  int64_t outputs = out.count();
  if (outputs == 0) return;
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, in.rank(), k.op) : Dims(), in.rank());
  double count = static_cast<double>(in.count() / outputs);
  DeviceScratch memory(static_cast<size_t>(outputs) * sizeof(double));
  Operand means{memory.as<void>(), out.sizes, out.strides, DType::kFloat64};
  dispatch_float(in.dtype, k.op, [&]<class T>() {
    reduce<T, double>(in, means, mask, k.op, MeanOf{count});
    reduce<T, double>(in, out, mask, k.op,
                      Variance{memory.as<const double>(), 0, std::max(0.0, count - a.correction), a.root});
  });
  copy_cast(k.out(1), means, k.op);
}

}  // namespace

void kernels_moments(device::KernelTable& table) { table.add("moments", moments_kernel); }

}  // namespace tw::cuda
