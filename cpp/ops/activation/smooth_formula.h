// See smooth.cc. M: the functions used.
#pragma once

#include "base/formula.h"
#include "ops/activation/activations.h"

namespace tw::ops {

template <class M, class C>
struct EluFormula {
  C scale, low, input_scale;
  static EluFormula of(const CurveAttrs& a) { return {C(a.q), C(a.p * a.q), C(a.r)}; }
  TW_FORMULA C operator()(C x) const {
    C bent = low * M::expm1(x * input_scale);
    return x > C(0) ? scale * x : bent;
  }
};
template <class M, class C>
struct EluBackwardFormula {
  C scale, low, input_scale;
  static EluBackwardFormula of(const CurveAttrs& a) { return {C(a.q), C(a.p * a.q * a.r), C(a.r)}; }
  TW_FORMULA C operator()(C g, C x) const {
    C bent = low * M::exp(x * input_scale);
    return g * (x > C(0) ? scale : bent);
  }
};

template <class M, class C>
struct SoftplusFormula {
  C beta, threshold;
  static SoftplusFormula of(const CurveAttrs& a) { return {C(a.p), C(a.q)}; }
  TW_FORMULA C operator()(C x) const {
    C z = x * beta, y = M::softplus(z) / beta;
    return z > threshold ? x : y;
  }
};
template <class M, class C>
struct SoftplusBackwardFormula {
  C beta, threshold;
  static SoftplusBackwardFormula of(const CurveAttrs& a) { return {C(a.p), C(a.q)}; }
  TW_FORMULA C operator()(C g, C x) const {
    C z = x * beta, y = g * M::sigmoid(z);
    return z > threshold ? g : y;
  }
};

template <class M>
struct SiluFormula {
  template <class C>
  TW_FORMULA C operator()(C x) const {
    return x * M::sigmoid(x);
  }
};
template <class M>
struct SiluBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C x) const {
    C s = M::sigmoid(x);
    return g * (s * (C(1) + x * (C(1) - s)));
  }
};

template <class M>
struct MishFormula {
  template <class C>
  TW_FORMULA C operator()(C x) const {
    return x * M::tanh(M::softplus(x));
  }
};
template <class M>
struct MishBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C x) const {
    C t = M::tanh(M::softplus(x));
    return g * (t + x * M::sigmoid(x) * (C(1) - t * t));
  }
};

template <class M>
struct LogSigmoidFormula {
  template <class C>
  TW_FORMULA C operator()(C x) const {
    return -M::softplus(-x);
  }
};
template <class M>
struct LogSigmoidBackwardFormula {
  template <class C>
  TW_FORMULA C operator()(C g, C x) const {
    return g * M::sigmoid(-x);
  }
};

template <class Ops>
void add_smooth(Ops ops) {
  using M = typename Ops::Functions;
  ops.template shaped_floats<EluFormula>("elu_of");
  ops.template shaped_floats<EluBackwardFormula>("elu_backward");
  ops.floats("silu", SiluFormula<M>());
  ops.floats("silu_backward", SiluBackwardFormula<M>());
  ops.floats("mish", MishFormula<M>());
  ops.floats("mish_backward", MishBackwardFormula<M>());
  ops.template shaped_floats<SoftplusFormula>("softplus");
  ops.template shaped_floats<SoftplusBackwardFormula>("softplus_backward");
  ops.floats("logsigmoid", LogSigmoidFormula<M>());
  ops.floats("logsigmoid_backward", LogSigmoidBackwardFormula<M>());
}

}  // namespace tw::ops
