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
#include "ops/loss/ctc_loss_formula.h"

namespace tw::ops {

using namespace device;

namespace {

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
  CtcSequence<T> sequence(int64_t n) const {
    const int64_t* target = targets_.data() + (row_ >= 0 ? n * row_ : starts_[n]);
    for (int64_t i = 0; i < a_.target_lengths[n]; i++)
      TW_CHECK(target[i] >= 0 && target[i] < classes_, kIndex, "ctc_loss: targets must be in [0, ", classes_,
               "), got ", target[i]);
    return {log_probs_.data() + n * classes_,
            samples_ * classes_,
            a_.input_lengths[n],
            target,
            a_.target_lengths[n],
            a_.blank};
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
double forward(const CtcSequence<T>& q, int64_t width, T* alpha) {
  int64_t states = q.states();
  if (q.steps == 0) return states == 1 ? 0 : std::numeric_limits<double>::infinity();
  std::vector<double> before(states, kCtcNone), now(states, kCtcNone);
  for (int64_t t = 0; t < q.steps; t++) {
    for (int64_t s = 0; s < states; s++) {
      now[s] = q.arrive(t, s, before.data());
      alpha[t * width + s] = static_cast<T>(now[s]);
    }
    std::swap(before, now);
  }
  return -q.whole(before.data());
}

// dx = g (exp(log_probs) - the probability of emitting each class at each time, given the target). The first
// term is what log_softmax would subtract from the second, and is 0 in the sum over classes: a gradient of
// the logits.
template <class T>
void backward(const CtcSequence<T>& q, int64_t width, const T* alpha, double loss, double g, int64_t classes,
              T* dx) {
  int64_t states = q.states();
  std::vector<double> after(states, kCtcNone), now(states, kCtcNone);
  for (int64_t t = q.steps - 1; t >= 0; t--) {
    for (int64_t c = 0; c < classes; c++)
      dx[t * q.step + c] = static_cast<T>(g * std::exp(static_cast<double>(q.log_probs[t * q.step + c])));
    for (int64_t s = 0; s < states; s++) {
      double on = q.leave(t, s, after.data());
      now[s] = on + q.emission(t, s);
      dx[t * q.step + q.label(s)] -=
          static_cast<T>(g * std::exp(static_cast<double>(alpha[t * width + s]) + on + loss));
    }
    std::swap(after, now);
  }
}

void ctc_loss_kernel(KernelContext& k) {
  const auto& a = k.attrs<CtcAttrs>();
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() {
    Batch<T> batch(k.in(0), k.in(1), a);
    int64_t width = k.out(1).size(2), block = k.out(1).size(1) * width;
    std::fill_n(k.out(1).as<T>(), k.out(1).count(), static_cast<T>(kCtcNone));
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
        CtcSequence<T> q = batch.sequence(n);
        if (q.steps == 0) continue;
        // The loss again, from alpha: the stored one may have been zeroed.
        double total = q.whole(alpha.data() + n * block + (q.steps - 1) * width);
        if (total == kCtcNone && a.zero_infinity) continue;
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
