// attention: softmax(scale · Q Kᵀ + mask) V without ever holding the weights, and its gradient, which
// computes them again from the logsumexp (Dao et al., arXiv:2205.14135; Rabe and Staats, arXiv:2112.05682).
//
// Shapes: query [B, L, H, E], key [B, S, G, E], value [B, S, G, F], H a multiple of G (head h reads group h /
// (H / G)); mask broadcasts to [B, H, L, S], bool (true: seen) or added; is_causal: row i sees columns up to
// i. result [B, L, H, F]; logsumexp [B, H, L], +inf where a row sees nothing: its weights are then all 0.
#include "ops/attention/attention.h"

#include "ir/emitter.h"
#include "ops/shape_checks.h"
#include "sbp/rules.h"

namespace tw::ops {

using namespace ir;

namespace {

void infer_attention(InferContext& c) {
  const auto &q = c.in(0), &k = c.in(1), &v = c.in(2);
  TW_CHECK(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, kRuntime, c.op,
           ": tensors of 4 dims are wanted, got shapes ", q.sizes, ", ", k.sizes, " and ", v.sizes);
  bool fits = q.size(0) == k.size(0) && q.size(0) == v.size(0) && k.size(1) == v.size(1) &&
              k.size(2) == v.size(2) && q.size(3) == k.size(3) &&
              (k.size(2) > 0 ? q.size(2) % k.size(2) == 0 : q.size(2) == 0);
  TW_CHECK(fits, kRuntime, c.op, ": the shapes do not fit: query ", q.sizes, ", key ", k.sizes, ", value ",
           v.sizes);
  TW_CHECK(is_float(q.dtype) && q.dtype == k.dtype && q.dtype == v.dtype, kRuntime, c.op,
           ": one floating dtype is wanted, got ", q.dtype, ", ", k.dtype, " and ", v.dtype);
  if (c.has(3)) {
    Dims full{q.size(0), q.size(2), q.size(1), k.size(1)};
    TW_CHECK(broadcast_sizes(c.in(3).sizes, full, c.op) == full, kRuntime, c.op,
             ": a mask that broadcasts to ", full, " is wanted, got shape ", c.in(3).sizes);
    TW_CHECK(is_bool(c.in(3).dtype) || c.in(3).dtype == q.dtype, kRuntime, c.op, ": a mask of dtype bool or ",
             q.dtype, " is wanted, got ", c.in(3).dtype);
  }
  c.output(q.dtype, {q.size(0), q.size(1), q.size(2), v.size(3)});
  c.output(is_half(q.dtype) ? DType::kFloat32 : q.dtype, {q.size(0), q.size(2), q.size(1)});
}

void infer_attention_backward(InferContext& c) {
  const Dims &q = c.in(1).sizes, &v = c.in(3).sizes;
  Dims result{q[0], q[1], q[2], v[3]};
  want_sizes(c, 0, "grad", result);
  want_sizes(c, 5, "result", result);
  want_sizes(c, 6, "logsumexp", {q[0], q[2], q[1]});
  want_sizes(c, 2, "key", {q[0], v[1], v[2], q[3]});
  for (int i = 1; i <= 3; i++) c.output(c.in(i).dtype, c.in(i).sizes);
}

void attention_grad(GradContext& c) {
  if (!c.grad(0)) return;
  const auto& a = c.attrs<AttentionAttrs>();
  Values grads = ops<"attention_backward">(c.grad(0), c.input(0), c.input(1), c.input(2), c.input(3),
                                           c.output(0), c.output(1), a.scale, a.is_causal);
  for (int i = 0; i < 3; i++)
    if (c.needs(i)) c.set(i, grads[i]);
}

// [B, L, H, E] as [B, G, H / G, L, E], and back with the heads of a group summed where there is one for all.
Value by_group(const Value& x, int64_t groups) {
  Value heads = op<"transpose">(x, 1, 2);
  return op<"reshape">(heads,
                       IntList{x->size(0), groups, groups ? x->size(2) / groups : 0, x->size(1), x->size(3)});
}

Value from_group(Value x, int64_t heads) {
  if (x->size(1) * x->size(2) != heads) x = op<"sum">(x, IntList{2}, true);
  Value flat = op<"reshape">(x, IntList{x->size(0), heads, x->size(3), x->size(4)});
  return op<"transpose">(flat, 1, 2);
}

Value last_sum(const Value& x) { return op<"sum">(x, IntList{-1}, true); }
Value flipped(const Value& x) { return op<"transpose">(x, -2, -1); }

// The weights P of the forward pass, from scores and logsumexp.
Value weights_of(GradContext& c, const Value& q, const Value& k) {
  const auto& a = c.attrs<AttentionAttrs>();
  Value scores = op<"matmul">(q, flipped(k)) * a.scale;
  Dims grouped = scores->sizes, flat{grouped[0], grouped[1] * grouped[2], grouped[3], grouped[4]};
  if (Value mask = c.input(4)) {
    mask = op<"reshape">(op<"expand">(mask, flat), grouped);
    scores = is_bool(mask->dtype) ? op<"where">(mask, scores, -std::numeric_limits<double>::infinity())
                                  : scores + mask;
  }
  if (a.is_causal) {
    Value ones = op<"full">(IntList{grouped[3], grouped[4]}, Scalar(true), DType::kBool);
    scores = op<"where">(op<"tril">(ones), scores, -std::numeric_limits<double>::infinity());
  }
  Value lse = op<"cast">(c.input(6), scores->dtype);
  return op<"exp">(scores - op<"reshape">(lse, IntList{grouped[0], grouped[1], grouped[2], grouped[3], 1}));
}

// With P the weights, T = dO Vᵀ, D = P ∘ (T - Σ P T): dq = s D K, dk = s Dᵀ Q, dv = Pᵀ dO. Second order, so
// written with ops. x̂ is the cotangent of x below, and Σ sums over a row.
void attention_backward_grad(GradContext& c) {
  double scale = c.attrs<AttentionAttrs>().scale;
  int64_t heads = c.input_meta(1).sizes[2], groups = c.input_meta(2).sizes[2];
  Value g = by_group(c.input(0), groups), q = by_group(c.input(1), groups), k = by_group(c.input(2), groups);
  Value v = by_group(c.input(3), groups);
  Value p = weights_of(c, q, k);
  Value gq = by_group(c.grad_or_zeros(0), groups), gk = by_group(c.grad_or_zeros(1), groups);
  Value gv = by_group(c.grad_or_zeros(2), groups);
  Value t = op<"matmul">(g, flipped(v));
  Value centred = t - last_sum(p * t), d = p * centred;
  Value d_hat = (op<"matmul">(gq, flipped(k)) + op<"matmul">(q, flipped(gk))) * scale;
  Value r = last_sum(d_hat * p);
  Value p_hat = op<"matmul">(g, flipped(gv)) + d_hat * centred - r * t;
  Value t_hat = p * (d_hat - r);
  Value s_hat = p * (p_hat - last_sum(p * p_hat));
  if (c.needs(0)) c.set(0, from_group(op<"matmul">(t_hat, v) + op<"matmul">(p, gv), heads));
  if (c.needs(1)) c.set(1, from_group((op<"matmul">(s_hat, k) + op<"matmul">(d, gk)) * scale, heads));
  if (c.needs(2))
    c.set(2, from_group((op<"matmul">(flipped(s_hat), q) + op<"matmul">(flipped(d), gq)) * scale, groups));
  if (c.needs(3)) c.set(3, from_group(op<"matmul">(flipped(t_hat), g), groups));
}

// Batches and groups of heads are independent; queries too, which keys and values see all of.
struct AttentionSplit {
  sbp::RuleContext& c;
  bool backward = c.inputs.size() > 4;
  size_t query = backward ? 1 : 0, mask = backward ? 4 : 3;

  // Layouts of a tensor like the query, one like the key and one like the logsumexp, and which dim of [B, H,
  // L, S] a mask splits.
  void add(const sbp::Sbp& of_query, const sbp::Sbp& of_key, const sbp::Sbp& of_sums, int64_t mask_dim,
           bool keys_get_shares) {
    sbp::Signature s = c.all_broadcast();
    s.inputs[query] = of_query;
    s.inputs[query + 1] = s.inputs[query + 2] = of_key;
    if (c.present[mask]) s.inputs[mask] = of_mask(of_query, mask_dim);
    s.outputs[0] = of_query;
    if (backward) {
      s.inputs[0] = s.inputs[5] = of_query;
      s.inputs[6] = of_sums;
      s.outputs[1] = s.outputs[2] = keys_get_shares ? sbp::partial() : of_key;
    } else {
      s.outputs[1] = of_sums;
    }
    c.add(std::move(s));
  }

  // The result is linear in the values, the gradients in that of the result; those of query and key are in
  // values and result together.
  void add_values() {
    sbp::Signature s = c.all_broadcast();
    s.inputs[query + 2] = s.outputs[0] = sbp::partial();
    if (backward) s.inputs[5] = s.outputs[1] = sbp::partial();
    c.add(std::move(s));
    if (backward) return sbp::add_pending(c, {0});
    s = c.all_broadcast();  // features of the values are independent
    s.inputs[query + 2] = s.outputs[0] = sbp::split(3);
    c.add(std::move(s));
  }

  sbp::Sbp of_mask(const sbp::Sbp& of_query, int64_t dim) const {
    const Dims& sizes = c.inputs[mask];
    int64_t at = dim - 4 + static_cast<int64_t>(sizes.size());
    if (at < 0 || sizes[at] != c.inputs[query][of_query.dim]) return sbp::broadcast();
    return sbp::split(at, of_query.unit);
  }
};

void sbp_attention(sbp::RuleContext& c) {
  AttentionSplit split{c};
  const Dims &q = c.inputs[split.query], &k = c.inputs[split.query + 1];
  split.add(sbp::split(0), sbp::split(0), sbp::split(0), 0, false);
  int64_t share = k[2] > 0 ? q[2] / k[2] : 1;  // heads of a group
  split.add(sbp::split(2, share), sbp::split(2), sbp::split(1, share), 1, false);
  if (!c.attrs<AttentionAttrs>().is_causal)
    split.add(sbp::split(1), sbp::broadcast(), sbp::split(2), 2, true);
  split.add_values();
}

Cost attention_cost(const CostContext& c) {
  size_t query = c.inputs.size() > 4 ? 1 : 0;
  const Dims &q = c.inputs[query].sizes, &v = c.inputs[query + 2].sizes;
  double pairs = static_cast<double>(q[0] * q[1] * q[2]) * static_cast<double>(v[1]);
  return {(query ? 5.0 : 2.0) * pairs * static_cast<double>(q[3] + v[3]), c.bytes(), c.bytes()};
}

}  // namespace

void define_attention(OpRegistry& r) {
  using A = AttentionAttrs;
  r.op("attention(Tensor query, Tensor key, Tensor value, Tensor? mask, float scale, bool is_causal=False) "
       "-> "
       "(Tensor result, Tensor logsumexp)",
       &A::scale, &A::is_causal)
      .doc("softmax(scale * query key^T + mask) value, head by head, and the logsumexp of each row.")
      .infer(infer_attention)
      .grad("query key value mask result logsumexp", attention_grad)
      .autocast(Autocast::kLow)
      .sbp(sbp_attention)
      .cost(attention_cost)
      .visible(1);
  r.op("attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor result, "
       "Tensor logsumexp, float scale, bool is_causal=False) -> (Tensor query_grad, Tensor key_grad, Tensor "
       "value_grad)",
       &A::scale, &A::is_causal)
      .doc("The gradients of attention.")
      .infer(infer_attention_backward)
      .grad("grad query key value mask logsumexp", attention_backward_grad)
      .sbp(sbp_attention)
      .cost(attention_cost);
}

}  // namespace tw::ops
