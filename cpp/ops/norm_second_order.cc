#include "ops/norm_second_order.h"

namespace tw::ops {

using namespace ir;

namespace {

Value added(const Value& a, const Value& b) { return !a ? b : (!b ? a : a + b); }

}  // namespace

NormSecondOrder norm_second_order(const NormTerms& t, bool need_grad, bool need_input, bool need_weight) {
  NormSecondOrder out;
  Value xhat = (t.mean ? t.input - t.mean : t.input) * t.rstd;
  Value h = t.weight ? t.grad * t.weight : t.grad;
  auto mean = [&](const Value& u) { return op<"mean">(u, t.stat_dims, true); };
  auto project = [&](const Value& u) {
    Value rest = u - xhat * mean(u * xhat);
    return t.mean ? rest - mean(u) : rest;
  };
  Value pv = t.v ? project(t.v) * t.rstd : Value();
  if (need_grad) {
    Value direct = pv && t.weight ? pv * t.weight : pv;
    out.grad = added(added(direct, t.v_weight ? t.v_weight * xhat : Value()), t.v_bias);
    if (out.grad && out.grad->sizes != t.input->sizes) out.grad = op<"expand">(out.grad, t.input->sizes);
  }
  if (need_weight && pv) {
    Value product = t.grad * pv;
    out.weight = t.affine_dims.empty() ? product : op<"sum">(product, t.affine_dims, true);
  }
  if (!need_input) return out;
  Value along;  // what flows into x̂, without the factor rstd of dx
  if (t.v) along = -((t.v * mean(h * xhat) + h * mean(t.v * xhat)) * t.rstd);
  if (t.v_weight) along = added(along, t.grad * t.v_weight);
  if (along) out.input = project(along) * t.rstd;
  if (t.v) {  // through rstd: its derivative in x is -rstd² x̂ / n
    Value into_rstd = mean(t.v * project(h));
    out.input = added(out.input, -(into_rstd * t.rstd * t.rstd * xhat));
  }
  return out;
}

void add_affine_pending(sbp::RuleContext& c, bool backward) {
  sbp::Signature signature = c.all_broadcast();
  if (backward) {
    signature.inputs[0] = sbp::partial();
    signature.outputs.assign(c.outputs.size(), sbp::partial());
  } else {
    if (!c.present[1]) return;
    for (size_t i = 1; i < c.inputs.size(); i++)
      if (c.present[i]) signature.inputs[i] = sbp::partial();
    signature.outputs[0] = sbp::partial();
  }
  c.add(std::move(signature));
}

}  // namespace tw::ops
