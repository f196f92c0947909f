// Forward and backward recursions over the target with blanks between its classes, in logarithms; sequences
// run beside each other. Time and memory T (2 S + 1) a sequence.
#include "ops/loss/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  double high = std::max(a, b);
  if (high == kNone) return kNone;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

// One sequence: its extended target (blank, t0, blank, t1, ..., blank) and its emissions.
template <class T>
struct Sequence {
  const T* log_probs;  // [T, N, C], at this sample
  int64_t step, steps;
  std::vector<int64_t> labels;

  int64_t states() const { return static_cast<int64_t>(labels.size()); }
  double emission(int64_t t, int64_t s) const { return static_cast<double>(log_probs[t * step + labels[s]]); }
  // A blank may be skipped between two different classes.
  bool may_skip(int64_t s) const { return s >= 2 && s % 2 == 1 && labels[s] != labels[s - 2]; }
};

template <class T>
class Batch {
 public:
  Batch(const Operand& log_probs, const Operand& targets, const CtcAttrs& a)
      : log_probs_(log_probs),
        targets_(targets),
        a_(a),
        samples_(log_probs.size(1)),
        classes_(log_probs.size(2)),
        row_(targets.rank() == 2 ? targets.size(1) : -1) {
    int64_t offset = 0;
    for (int64_t length : a.target_lengths) starts_.push_back(offset), offset += length;
  }
  int64_t samples() const { return samples_; }
  int64_t classes() const { return classes_; }
  Sequence<T> sequence(int64_t n) const {
    Sequence<T> result{log_probs_.data() + n * classes_, samples_ * classes_, a_.input_lengths[n], {}};
    const int64_t* target = targets_.data() + (row_ >= 0 ? n * row_ : starts_[n]);
    for (int64_t i = 0; i < a_.target_lengths[n]; i++) {
      TW_CHECK(target[i] >= 0 && target[i] < classes_, kIndex, "ctc_loss: targets must be in [0, ", classes_,
               "), got ", target[i]);
      result.labels.push_back(a_.blank);
      result.labels.push_back(target[i]);
    }
    result.labels.push_back(a_.blank);
    return result;
  }

 private:
  Dense<T> log_probs_;
  Dense<int64_t> targets_;
  const CtcAttrs& a_;
  int64_t samples_, classes_, row_;
  std::vector<int64_t> starts_;
};

// alpha[t][s]: log of the probability of all paths that are in state s at time t.
template <class T>
double forward(const Sequence<T>& q, int64_t width, T* alpha) {
  int64_t states = q.states();
  if (q.steps == 0) return states == 1 ? 0 : std::numeric_limits<double>::infinity();
  std::vector<double> before(states, kNone), now(states, kNone);
  for (int64_t t = 0; t < q.steps; t++) {
    for (int64_t s = 0; s < states; s++) {
      double sum = t == 0 ? (s < 2 ? 0 : kNone) : before[s];
      if (t > 0 && s > 0) sum = log_add(sum, before[s - 1]);
      if (t > 0 && q.may_skip(s)) sum = log_add(sum, before[s - 2]);
      now[s] = sum + q.emission(t, s);
      alpha[t * width + s] = static_cast<T>(now[s]);
    }
    std::swap(before, now);
  }
  double end = before[states - 1];
  return -(states > 1 ? log_add(end, before[states - 2]) : end);
}

// dx = g (exp(log_probs) - the probability of emitting each class at each time, given the target). The first
// term is what log_softmax would subtract from the second, and is 0 in the sum over classes: a gradient of
// the logits.
template <class T>
void backward(const Sequence<T>& q, int64_t width, const T* alpha, double loss, double g, int64_t classes,
              T* dx) {
  int64_t states = q.states();
  std::vector<double> after(states, kNone), now(states, kNone);
  for (int64_t t = q.steps - 1; t >= 0; t--) {
    for (int64_t c = 0; c < classes; c++)
      dx[t * q.step + c] = static_cast<T>(g * std::exp(static_cast<double>(q.log_probs[t * q.step + c])));
    for (int64_t s = 0; s < states; s++) {
      double sum = t == q.steps - 1 ? (s + 2 >= states ? 0 : kNone) : after[s];
      if (t < q.steps - 1 && s + 1 < states) sum = log_add(sum, after[s + 1]);
      if (t < q.steps - 1 && s + 2 < states && q.may_skip(s + 2)) sum = log_add(sum, after[s + 2]);
      now[s] = sum + q.emission(t, s);
      dx[t * q.step + q.labels[s]] -=
          static_cast<T>(g * std::exp(static_cast<double>(alpha[t * width + s]) + sum + loss));
    }
    std::swap(after, now);
  }
}

void ctc_loss_kernel(KernelContext& k) {
  const auto& a = k.attrs<CtcAttrs>();
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() {
    Batch<T> batch(k.in(0), k.in(1), a);
    int64_t width = k.out(1).size(2), block = k.out(1).size(1) * width;
    std::fill_n(k.out(1).as<T>(), k.out(1).count(), static_cast<T>(kNone));
    parallel_for(0, batch.samples(), 1 + 20000 / (block + 1), [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; n++) {
        double loss = forward<T>(batch.sequence(n), width, k.out(1).as<T>() + n * block);
        k.out(0).as<T>()[n] = static_cast<T>(a.zero_infinity && std::isinf(loss) ? 0 : loss);
      }
    });
  });
}

void ctc_loss_backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<CtcAttrs>();
  dispatch_full_float(k.out().dtype, k.op, [&]<class T>() {
    Batch<T> batch(k.in(1), k.in(2), a);
    Dense<T> grad(k.in(0)), alpha(k.in(4));
    int64_t width = k.in(4).size(2), block = k.in(4).size(1) * width;
    T* dx = k.out().as<T>();
    std::fill_n(dx, k.out().count(), T(0));
    parallel_for(0, batch.samples(), 1 + 20000 / (block + 1), [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; n++) {
        Sequence<T> q = batch.sequence(n);
        if (q.steps == 0) continue;
        // The loss again, from alpha: the stored one may have been zeroed.
        const T* end = alpha.data() + n * block + (q.steps - 1) * width;
        int64_t states = q.states();
        double total = static_cast<double>(end[states - 1]);
        if (states > 1) total = log_add(total, static_cast<double>(end[states - 2]));
        if (total == kNone && a.zero_infinity) continue;
        backward<T>(q, width, alpha.data() + n * block, -total, static_cast<double>(grad[n]), batch.classes(),
                    dx + n * batch.classes());
      }
    });
  });
}

}  // namespace

void kernels_ctc_loss(KernelTable& table) {
  table.add("ctc_loss_each", ctc_loss_kernel);
  table.add("ctc_loss_backward", ctc_loss_backward_kernel);
}

}  // namespace tw::ops
