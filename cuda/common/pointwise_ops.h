// The passes of the device for kernels that are made of formulas; see ops/pointwise_ops.h.
#pragma once

#include "cuda/common/complex_functions.h"
#include "cuda/common/functions.h"
#include "ops/pointwise_ops.h"

namespace tw::cuda {

struct CudaLoops {
  using Functions = cuda::Functions;
  using Complex = WideComplex;

  template <class Out, class... In, class F>
  static void run(device::KernelContext& k, const F& f) {
    pointwise<In..., Out>(k, f);
  }
  template <class F>
  static void run_of_complex(device::KernelContext& k) {
    dispatch_device_complex(k.out().dtype,
                            [&]<class C>() { ops::run_formula<CudaLoops, C>(k, OfComplex<F>()); });
  }
  template <class Body>
  static void with_complex(DType dtype, const char*, const Body& body) {
    dispatch_device_complex(dtype, body);
  }
};

using PointwiseOps = ops::PointwiseOps<CudaLoops>;

template <class F>
void floats_kernel(device::KernelContext& k) {
  ops::floats_kernel<CudaLoops, F>(k);
}

}  // namespace tw::cuda
