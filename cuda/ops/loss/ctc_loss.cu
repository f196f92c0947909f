// ctc_loss: a block a sequence, its threads sharing the states of each time, which lie in shared memory in
// double; a barrier a time. Forward reads the emissions of the target's classes and writes log_alpha;
// backward reads these and writes the whole gradient, summing what states give to a class in a fixed order.
// Floor: the bytes of log_probs' gradient and of log_alpha over the bandwidth, or the time of T steps one
// after the other. Targets that are no class are an error, for which both wait for the device.
//
// Per element: 4 bytes and 4 operations (the gradient of ctc_loss, float32).
#include "ops/loss/ctc_loss.h"

#include <vector>

#include "cuda/common/dense.h"
#include "cuda/common/flag.h"
#include "cuda/common/row_values.h"
#include "cuda/common/upload.h"
#include "ops/loss/ctc_loss_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

// What kernels know of all sequences.
template <class T>
struct CtcBatch {
  const T* log_probs;  // [T, N, C]
  const int64_t* targets;
  const int64_t *lengths, *target_lengths, *starts;  // of each sample
  int64_t times, samples, classes, blank, width;     // width: states of the longest target
  bool zero_infinity;
  int* wrong;

  TW_DEVICE ops::CtcSequence<T> sequence(int64_t n) const {
    return {log_probs + n * classes, samples * classes, lengths[n],
            targets + starts[n],     target_lengths[n], blank};
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads) check_targets_kernel(CtcBatch<T> batch) {
  int64_t n = blockIdx.x;
  for (int64_t i = threadIdx.x; i < batch.target_lengths[n]; i += kThreads) {
    int64_t label = batch.targets[batch.starts[n] + i];
    if (label < 0 || label >= batch.classes) raise_flag(batch.wrong);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) ctc_forward_kernel(CtcBatch<T> batch, T* losses, T* alphas) {
  int64_t n = blockIdx.x, width = batch.width;
  ops::CtcSequence<T> q = batch.sequence(n);
  double *before = dynamic_shared<double>(), *now = before + width;
  T* alpha = alphas + n * batch.times * width;
  for (int64_t t = 0; t < batch.times; t++) {
    for (int64_t s = threadIdx.x; s < width; s += kThreads) {
      double value = ops::kCtcNone;
      if (t < q.steps && s < q.states()) now[s] = value = q.arrive(t, s, before);
      alpha[t * width + s] = static_cast<T>(value);
    }
    __syncthreads();
    if (t >= q.steps) continue;
    double* other = before;
    before = now;
    now = other;
  }
  if (threadIdx.x != 0) return;
  double loss = q.length == 0 ? 0 : -ops::kCtcNone;
  if (q.steps > 0) loss = -q.whole(before);
  losses[n] = static_cast<T>(batch.zero_infinity && loss == -ops::kCtcNone ? 0 : loss);
}

// Where the same class comes again in a target: `next` (-1: never), and whether a place is the first.
TW_DEVICE void link_classes(const int64_t* target, int64_t length, int* next, int* first) {
  for (int64_t i = threadIdx.x; i < length; i += kThreads) {
    int64_t j = i + 1;
    while (j < length && target[j] != target[i]) j++;
    next[i] = j < length ? static_cast<int>(j) : -1;
    j = 0;
    while (target[j] != target[i]) j++;
    first[i] = j == i;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    ctc_backward_kernel(CtcBatch<T> batch, const T* grads, const T* alphas, T* grad) {
  int64_t n = blockIdx.x, width = batch.width, longest = width / 2;
  ops::CtcSequence<T> q = batch.sequence(n);
  double *after = dynamic_shared<double>(), *now = after + width, *shares = now + width;
  int *next = reinterpret_cast<int*>(shares + width), *first = next + longest;
  const T* alpha = alphas + n * batch.times * width;
  T* dx = grad + n * batch.classes;
  auto g = static_cast<double>(grads[n]);
  double whole = q.steps > 0 ? q.whole(alpha + (q.steps - 1) * width) : 0;
  int64_t steps = whole == ops::kCtcNone && batch.zero_infinity ? 0 : q.steps;
  for (int64_t t = batch.times - 1; t >= steps; t--)
    for (int64_t c = threadIdx.x; c < batch.classes; c += kThreads) dx[t * q.step + c] = T(0);
  link_classes(q.target, q.length, next, first);
  for (int64_t t = steps - 1; t >= 0; t--) {
    T* row = dx + t * q.step;
    for (int64_t c = threadIdx.x; c < batch.classes; c += kThreads)
      row[c] = static_cast<T>(g * std::exp(static_cast<double>(q.log_probs[t * q.step + c])));
    double of_blanks = 0;
    for (int64_t s = threadIdx.x; s < q.states(); s += kThreads) {
      double on = q.leave(t, s, after);
      now[s] = on + q.emission(t, s);
      double share = g * std::exp(static_cast<double>(alpha[t * width + s]) + on - whole);
      shares[s] = share;
      if (s % 2 == 0) of_blanks += share;
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < q.length; i += kThreads) {
      if (!first[i]) continue;
      double sum = 0;
      for (int64_t j = i; j >= 0; j = next[j]) sum += shares[2 * j + 1];
      row[q.target[i]] -= static_cast<T>(sum);
    }
    // Its barriers stand between these and the next time's.
    of_blanks = block_reduce<kThreads>(of_blanks, 0.0, Plus());
    if (threadIdx.x == 0) row[q.blank] -= static_cast<T>(of_blanks);
    double* other = after;
    after = now;
    now = other;
  }
}

// Numbers of the samples on the device, and the kernels' view of a call.
template <class T>
class Sequences {
 public:
  Sequences(const Operand& log_probs, const Operand& targets, const Operand& alpha, const ops::CtcAttrs& a,
            const char* op)
      : op_(op), log_probs_(log_probs, op), targets_(targets, op), numbers_(numbers_of(targets, a), op) {
    int64_t samples = log_probs.size(1);
    const int64_t* numbers = numbers_.data();
    batch = {log_probs_.data(), targets_.data(), numbers,           numbers + samples, numbers + 2 * samples,
             log_probs.size(0), samples,         log_probs.size(2), a.blank,           alpha.size(2),
             a.zero_infinity,   wrong_.data()};
    launch(op, check_targets_kernel<T>, grid(0), batch);
    TW_CHECK(!wrong_.raised(), kIndex, "ctc_loss: targets must be in [0, ", batch.classes, ")");
  }
  // A block a sequence, with so much shared memory.
  Grid grid(int64_t shared_bytes) const {
    constexpr int64_t kMostShared = 200 << 10;
    TW_CHECK(shared_bytes <= kMostShared, kNotImplemented, op_, ": targets of ", batch.width / 2,
             " classes are not supported on CUDA");
    return {static_cast<unsigned>(batch.samples), kThreads, static_cast<unsigned>(shared_bytes)};
  }

  CtcBatch<T> batch;

 private:
  static std::vector<int64_t> numbers_of(const Operand& targets, const ops::CtcAttrs& a) {
    std::vector<int64_t> numbers(a.input_lengths.begin(), a.input_lengths.end());
    numbers.insert(numbers.end(), a.target_lengths.begin(), a.target_lengths.end());
    int64_t offset = 0;
    for (int64_t length : a.target_lengths) {
      numbers.push_back(offset);
      offset += targets.rank() == 2 ? targets.size(1) : length;
    }
    return numbers;
  }
  const char* op_;
  Dense<T> log_probs_;
  Dense<int64_t> targets_;
  Uploaded<int64_t> numbers_;
  DeviceFlag wrong_;
};

void ctc_loss_kernel(KernelContext& k) {
  dispatch_full_float(k.in(0).dtype, k.op, [&]<class T>() {
    Sequences<T> all(k.in(0), k.in(1), k.out(1), k.attrs<ops::CtcAttrs>(), k.op);
    int64_t shared_bytes = 2 * all.batch.width * static_cast<int64_t>(sizeof(double));
    launch(k.op, ctc_forward_kernel<T>, all.grid(shared_bytes), all.batch, k.out(0).as<T>(),
           k.out(1).as<T>());
  });
}

void ctc_loss_backward_kernel(KernelContext& k) {
  dispatch_full_float(k.out().dtype, k.op, [&]<class T>() {
    Sequences<T> all(k.in(1), k.in(2), k.in(4), k.attrs<ops::CtcAttrs>(), k.op);
    Dense<T> grad(k.in(0), k.op), alpha(k.in(4), k.op);
    int64_t width = all.batch.width;
    auto shared_bytes = static_cast<int64_t>(3 * width * sizeof(double) + width / 2 * 2 * sizeof(int));
    launch(k.op, ctc_backward_kernel<T>, all.grid(shared_bytes), all.batch, grad.data(), alpha.data(),
           k.out().as<T>());
  });
}

}  // namespace

void kernels_ctc_loss(device::KernelTable& table) {
  table.add("ctc_loss_each", ctc_loss_kernel);
  table.add("ctc_loss_backward", ctc_loss_backward_kernel);
}

}  // namespace tw::cuda
