// resample: [N, C, *D] at other spatial sizes, by "nearest", "nearest-exact", "linear" or "cubic"
// interpolation in each dim (the result is their product: bilinear, trilinear, bicubic). Linear in its input;
// its gradient is its transpose.
//
// Output position o lies at input position (o + ½) · step - ½, or o · step with align_corners; step is the
// ratio of the sizes (of the sizes less one). "nearest" takes floor(o · step), "nearest-exact" floor((o + ½)
// · step). The cubic is Keys' with a = -¾ (IEEE TASSP 29, 1981).
#include "ops/resample/resample.h"

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_resample(InferContext& c) {
  const auto& a = c.attrs<ResampleAttrs>();
  int64_t dims = c.in(0).rank() - 2;
  TW_CHECK(dims >= 1 && dims <= 3 && static_cast<int64_t>(a.size.size()) == dims, kValue, c.op,
           ": an input [N, C, ...] "
           "of ",
           a.size.size(), " spatial dims, 1 to 3, is wanted, got shape ", c.in(0).sizes);
  TW_CHECK(a.scales.empty() || static_cast<int64_t>(a.scales.size()) == dims, kValue, c.op, ": ", dims,
           " scales are wanted, got ", a.scales.size());
  bool known = a.mode == "nearest" || a.mode == "nearest-exact" || a.mode == "linear" || a.mode == "cubic";
  TW_CHECK(known, kValue, c.op, ": mode nearest, nearest-exact, linear or cubic is wanted, got ", a.mode);
  Dims sizes{c.in(0).size(0), c.in(0).size(1)};
  for (int64_t i = 0; i < dims; i++) {
    TW_CHECK(a.size[i] > 0 && c.in(0).size(i + 2) > 0, kRuntime, c.op,
             ": spatial sizes above 0 are wanted, got ", c.in(0).sizes, " to ", a.size);
    sizes.push_back(a.size[i]);
  }
  c.output(c.in(0).dtype, sizes);
}

Dims spatial(const Dims& sizes) { return Dims(sizes.begin() + 2, sizes.end()); }

template <OpName kOther>
void other_way(GradContext& c) {
  const auto& a = c.attrs<ResampleAttrs>();
  c.set(0, op<kOther>(c.grad(), spatial(c.input_meta(0).sizes), a.mode, a.align_corners, a.scales));
}

void sbp_resample(sbp::RuleContext& c) {
  for (int64_t dim : {0, 1}) c.add({{sbp::split(dim)}, {sbp::split(dim)}});
  c.add({{sbp::partial()}, {sbp::partial()}});
}

}  // namespace

void define_resample(OpRegistry& r) {
  using A = ResampleAttrs;
  r.op("resample(Tensor input, int[] size, str mode, bool align_corners, float[] scales) -> Tensor", &A::size,
       &A::mode, &A::align_corners, &A::scales)
      .doc("Interpolates the spatial dims at other sizes.")
      .infer(infer_resample)
      .grad("", other_way<"resample_backward">)
      .sbp(sbp_resample)
      .cost(pointwise_cost<16>);
  r.op("resample_backward(Tensor grad, int[] size, str mode, bool align_corners, float[] scales) -> Tensor",
       &A::size, &A::mode, &A::align_corners, &A::scales)
      .doc("The gradient of resample; size is that of its input.")
      .infer(infer_resample)
      .grad("", other_way<"resample">)
      .sbp(sbp_resample)
      .cost(reduction_cost<16>);
}

}  // namespace tw::ops
