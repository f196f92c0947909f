// convolution, its transpose and convolution_weight through cuDNN, in the order that tensors have in memory:
// channels-last where one of them lies so (the weight is then copied to that order), row-major else. Bytes:
// the operands' once, and the result's twice more where there is a bias; 2·N·O·I/g·K·P flops. Floor: the
// larger of flops over the library's peak and bytes over the bandwidth.
#include "ops/conv/convolution.h"

#include "cuda/common/laid.h"
#include "cuda/common/pointwise.h"
#include "cuda/device/convolution.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;
using ops::ConvDirection;

namespace {

struct AddBias {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return a + b;
  }
};

void add_bias(const Operand& out, const Operand& bias, const char* op) {
  Dims strides(out.rank(), 0);
  strides[1] = bias.stride(0);
  Operand spread{bias.data, out.sizes, &strides, bias.dtype};
  dispatch_float(out.dtype, op, [&]<class T>() {
    pointwise_over(Types<T>{}, Types<T, T>{}, {&out}, {&out, &spread}, op, AddBias());
  });
}

template <class T>
const T& result_of(ConvDirection direction, const T& x, const T& w, const T& y) {
  return direction == ConvDirection::kForward ? y : direction == ConvDirection::kInput ? x : w;
}

struct Operands {
  ConvDirection direction;
  const Operand &x, &w, &y;
};

void run(const KernelContext& k, const Operands& o, ops::ConvGeometry g) {
  const Operand& result = result_of(o.direction, o.x, o.w, o.y);
  TW_CHECK(is_float(result.dtype), kNotImplemented, k.op, ": dtype ", result.dtype,
           " is not supported on CUDA");
  if (result.count() == 0) return;
  if (o.x.count() == 0 || o.w.count() == 0 || o.y.count() == 0) {
    Dims strides(result.rank(), 0);
    DeviceScratch zero(sizeof(double));
    check(cudaMemsetAsync(zero.as<void>(), 0, sizeof(double), current_stream()), k.op);
    return copy_cast(result, {zero.as<void>(), result.sizes, &strides, result.dtype}, k.op);
  }
  g.channels_last = g.weight_last = lies_channels_last(o.x) || lies_channels_last(o.y);
  auto laid = [&](const Operand& operand) {
    return Laid(operand, result.dtype, g.channels_last, &operand == &result ? Laid::kResult : Laid::kInput,
                k.op);
  };
  Laid x = laid(o.x), w = laid(o.w), y = laid(o.y);
  run_convolution({k.op, o.direction, result.dtype, g, x.as<void>(), w.as<void>(), y.as<void>()},
                  current_stream());
  result_of(o.direction, x, w, y).store(k.op);
}

void convolution_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ConvolutionAttrs>();
  const Operand &x = a.transposed ? k.out() : k.in(0), &y = a.transposed ? k.in(0) : k.out();
  run(k, {a.transposed ? ConvDirection::kInput : ConvDirection::kForward, x, k.in(1), y},
      ops::conv_geometry(*x.sizes, *k.in(1).sizes, *y.sizes, a.stride, a.padding, a.dilation, a.groups));
  if (k.in(2).present() && k.out().count() > 0) add_bias(k.out(), k.in(2), k.op);
}

void convolution_weight_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ConvolutionWeightAttrs>();
  const Operand &y = k.in(0), &x = k.in(1), &w = k.out();
  run(k, {ConvDirection::kWeight, x, w, y},
      ops::conv_geometry(*x.sizes, *w.sizes, *y.sizes, a.stride, a.padding, a.dilation, a.groups));
}

}  // namespace

void kernels_convolution(device::KernelTable& table) {
  table.add("convolution", convolution_kernel);
  table.add("convolution_weight", convolution_weight_kernel);
}

}  // namespace tw::cuda
