// convolution, its transpose and convolution_weight through cuDNN, in the order that tensors have in memory:
// channels-last where one of them lies so (the weight is then copied to that order), row-major else. Bytes:
// the operands' once, and the result's twice more where there is a bias; 2·N·O·I/g·K·P flops. Floor: the
// larger of flops over the library's peak and bytes over the bandwidth. convolution_then adds one pass for
// all that follows, which reads the result and the residual and writes the result.
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

// The numbers of the channels as an operand of the result's sizes.
class OfChannels {
 public:
  OfChannels(const Operand& numbers, const Operand& result) : strides_(result.rank(), 0) {
    for (int64_t d = 0; d < numbers.rank(); d++)
      if (numbers.size(d) > 1) strides_[1] = numbers.stride(d);
    operand_ = {numbers.data, result.sizes, &strides_, numbers.dtype};
  }
  OfChannels(const OfChannels&) = delete;
  OfChannels& operator=(const OfChannels&) = delete;
  const Operand& operand() const { return operand_; }

 private:
  Dims strides_;
  Operand operand_;
};

void add_bias(const Operand& out, const Operand& bias, const char* op) {
  OfChannels spread(bias, out);
  dispatch_float(out.dtype, op, [&]<class T>() {
    pointwise_over(Types<T>{}, Types<T, T>{}, {&out}, {&out, &spread.operand()}, op, AddBias());
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

// relu(shift + (y + bias) scale + residual), rounded as by the ops that it stands for.
struct Epilogue {
  bool biased, scaled, added, relu;
  TW_DEVICE float operator()(float y, float bias, float shift, float scale, float residual) const {
    if (biased) y = y + bias;
    if (scaled) y = shift + y * scale;
    if (added) y = y + residual;
    return relu && y < 0.0f ? 0.0f : y;
  }
};

void convolution_then_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ConvolutionThenAttrs>();
  const Operand &x = k.in(0), &w = k.in(1), &y = k.out();
  run(k, {ConvDirection::kForward, x, w, y},
      ops::conv_geometry(*x.sizes, *w.sizes, *y.sizes, a.stride, a.padding, a.dilation, a.groups));
  if (y.count() == 0) return;
  // What is not given is read from one place, and not used.
  Dims none(y.rank(), 0);
  Operand nothing{w.data, y.sizes, &none, y.dtype};
  auto given = [&](int i) -> const Operand& { return k.in(i).present() ? k.in(i) : nothing; };
  OfChannels bias(given(2), y), shift(given(3), y), scale(given(4), y);
  Epilogue epilogue{k.in(2).present(), k.in(3).present(), k.in(5).present(), a.relu};
  pointwise_over(Types<float>{}, Types<float, float, float, float, float>{}, {&y},
                 {&y, &bias.operand(), &shift.operand(), &scale.operand(), &given(5)}, k.op, epilogue);
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
  table.add("convolution_then", convolution_then_kernel);
  table.add("convolution_weight", convolution_weight_kernel);
}

}  // namespace tw::cuda
