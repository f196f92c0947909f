// What the definitions of pools share. Inputs are [N, C, *D] with one to three spatial dims.
#pragma once

#include "ir/emitter.h"
#include "ops/pooling/pooling.h"
#include "sbp/rules.h"

namespace tw::ops {

inline int64_t check_planes(const ir::InferContext& c, size_t list_size) {
  int64_t dims = c.in(0).rank() - 2;
  TW_CHECK(dims >= 1 && dims <= 3 && list_size == static_cast<size_t>(dims), kRuntime, c.op,
           ": an input [N, C, ...] of ", list_size, " spatial dims is wanted, got shape ", c.in(0).sizes);
  for (int64_t dim = 2; dim < c.in(0).rank(); dim++)
    TW_CHECK(c.in(0).size(dim) > 0, kRuntime, c.op, ": spatial sizes above 0 are wanted, got shape ",
             c.in(0).sizes);
  TW_CHECK(!is_bool(c.in(0).dtype) && !is_complex(c.in(0).dtype), kNotImplemented, c.op, ": dtype ",
           c.in(0).dtype, " is not supported");
  return dims;
}

inline void check_window(const ir::InferContext& c, const IntList& kernel, const IntList& stride,
                         const IntList& padding, const IntList& dilation) {
  size_t dims = kernel.size();
  TW_CHECK(stride.size() == dims && padding.size() == dims && dilation.size() == dims, kRuntime, c.op, ": ",
           dims, " numbers each are wanted, got stride ", stride, ", padding ", padding, ", dilation ",
           dilation);
  for (size_t i = 0; i < dims; i++) {
    TW_CHECK(kernel[i] > 0 && stride[i] > 0 && dilation[i] > 0, kRuntime, c.op,
             ": kernel_size, stride and dilation above 0 are wanted, got ", kernel, ", ", stride, " and ",
             dilation);
    TW_CHECK(padding[i] >= 0 && padding[i] <= (dilation[i] * (kernel[i] - 1) + 1) / 2, kRuntime, c.op,
             ": padding from 0 to half of the window is wanted, got ", padding, " for kernel_size ", kernel);
  }
}

inline Dims pooled_shape(const ir::InferContext& c, const IntList& kernel, const IntList& stride,
                         const IntList& padding, const IntList& dilation, bool ceil) {
  Dims sizes{c.in(0).size(0), c.in(0).size(1)};
  for (size_t i = 0; i < kernel.size(); i++) {
    sizes.push_back(pooled_size(c.in(0).size(static_cast<int64_t>(i) + 2), kernel[i], stride[i], padding[i],
                                dilation[i], ceil));
    TW_CHECK(sizes.back() > 0, kRuntime, c.op, ": the window does not fit: input ", c.in(0).sizes,
             ", kernel_size ", kernel, ", padding ", padding);
  }
  return sizes;
}

// Images and channels are independent.
inline void sbp_planes(sbp::RuleContext& c) {
  std::vector<sbp::Sbp> inputs(c.inputs.size()), outputs(c.outputs.size());
  for (int64_t dim : {0, 1}) {
    std::fill(inputs.begin(), inputs.end(), sbp::split(dim));
    std::fill(outputs.begin(), outputs.end(), sbp::split(dim));
    c.add({inputs, outputs});
  }
}

inline void sbp_linear_planes(sbp::RuleContext& c) {
  sbp_planes(c);
  sbp::add_pending(c, {0});
}

}  // namespace tw::ops
