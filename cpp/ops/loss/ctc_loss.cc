// ctc_loss_each: minus the logarithm of the probability that a sequence of classes, with blanks and repeats
// removed, is the target, for each sequence of a batch. Graves et al., "Connectionist temporal
// classification", ICML 2006.
// The gradient is the one by the logits of which log_probs is the log_softmax, as if that were the identity:
// it takes log_probs for normalised and differs from the derivative by log_probs by exp(log_probs) times the
// incoming gradient, which log_softmax's own gradient cancels.
//   log_probs [T, N, C], targets [N, S] or one after the other [Σ target_lengths] -> [N], log_alpha [N, T, 2
//   S + 1]
#include "ops/loss/ctc_loss.h"

#include "ir/emitter.h"

namespace tw::ops {

using namespace ir;

namespace {

void check_lengths(const CtcAttrs& a, const ValueImpl& log_probs, const ValueImpl& targets) {
  int64_t samples = log_probs.size(1), total = 0;
  for (const IntList* lengths : {&a.input_lengths, &a.target_lengths})
    TW_CHECK(static_cast<int64_t>(lengths->size()) == samples, kRuntime, "ctc_loss: ", samples,
             " lengths are wanted, got ", lengths->size());
  for (int64_t length : a.input_lengths)
    TW_CHECK(length >= 0 && length <= log_probs.size(0), kRuntime, "ctc_loss: input_lengths must be in [0, ",
             log_probs.size(0), "], got ", length);
  for (int64_t length : a.target_lengths) {
    TW_CHECK(length >= 0 && (targets.rank() == 1 || length <= targets.size(1)), kRuntime,
             "ctc_loss: target_lengths must fit targets of shape ", targets.sizes, ", got ", length);
    total += length;
  }
  if (targets.rank() == 1)
    TW_CHECK(total == targets.size(0), kRuntime, "ctc_loss: target_lengths sum to ", total,
             ", but targets has ", targets.size(0), " elements");
  else
    TW_CHECK(targets.size(0) == samples, kRuntime, "ctc_loss: targets must have ", samples,
             " rows, got shape ", targets.sizes);
}

void infer_ctc(InferContext& c) {
  const auto& a = c.attrs<CtcAttrs>();
  const ValueImpl &x = c.in(0), &targets = c.in(1);
  TW_CHECK(x.dtype == DType::kFloat32 || x.dtype == DType::kFloat64, kRuntime,
           "ctc_loss: float32 or float64 is wanted, got ", x.dtype);
  TW_CHECK(x.rank() == 3, kRuntime, "ctc_loss: log_probs must be [T, N, C], got shape ", x.sizes);
  TW_CHECK(targets.rank() == 1 || targets.rank() == 2, kRuntime,
           "ctc_loss: targets must have 1 or 2 dims, got shape ", targets.sizes);
  TW_CHECK(targets.dtype == DType::kInt64, kRuntime, "ctc_loss: targets must be int64, got ", targets.dtype);
  TW_CHECK(a.blank >= 0 && a.blank < x.size(2), kRuntime, "ctc_loss: blank must be in [0, ", x.size(2),
           "), got ", a.blank);
  check_lengths(a, x, targets);
  int64_t longest = 0;
  for (int64_t length : a.target_lengths) longest = std::max(longest, length);
  c.output(x.dtype, {x.size(1)});
  c.output(x.dtype, {x.size(1), x.size(0), 2 * longest + 1});
}

void infer_backward(InferContext& c) { c.output(c.in(1).dtype, c.in(1).sizes); }

void ctc_grad(GradContext& c) {
  const auto& a = c.attrs<CtcAttrs>();
  c.set(0, op<"ctc_loss_backward">(c.grad(0), c.input(0), c.input(1), c.output(0), c.output(1),
                                   a.input_lengths, a.target_lengths, a.blank, a.zero_infinity));
}

void refuse_second_order(GradContext&) {
  TW_FAIL(kNotImplemented, "ctc_loss: gradients of second order are not available");
}

}  // namespace

void define_ctc_loss(OpRegistry& r) {
  r.op("ctc_loss_each(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int "
       "blank=0,"
       " bool zero_infinity=False) -> (Tensor loss, Tensor log_alpha)",
       &CtcAttrs::input_lengths, &CtcAttrs::target_lengths, &CtcAttrs::blank, &CtcAttrs::zero_infinity)
      .doc("The connectionist temporal classification loss of each sequence.")
      .visible(1)
      .infer(infer_ctc)
      .grad("log_probs targets loss log_alpha", ctc_grad)
      .autocast(Autocast::kFloat32)
      .sbp(sbp::broadcast_only)  // the lengths are attributes, which are not cut
      .cost(pointwise_cost<60>);
  r.op("ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, Tensor loss, Tensor log_alpha,"
       " int[] input_lengths, int[] target_lengths, int blank, bool zero_infinity) -> Tensor",
       &CtcAttrs::input_lengths, &CtcAttrs::target_lengths, &CtcAttrs::blank, &CtcAttrs::zero_infinity)
      .doc("The gradient of ctc_loss_each.")
      .infer(infer_backward)
      .grad("", refuse_second_order)
      .sbp(sbp::broadcast_only)
      .cost(pointwise_cost<60>);
}

}  // namespace tw::ops
