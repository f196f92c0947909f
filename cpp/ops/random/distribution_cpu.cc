// Floor: ten Philox rounds for four words (about 1 ns an element), then the transform.
#include "ops/random/distribution.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "device/cpu/element.h"
#include "device/cpu/math_functions.h"
#include "device/cpu/parallel.h"
#include "ops/random/distribution_formula.h"
#include "ops/random_words.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
struct RoundTo {
  template <class C>
  TW_INLINE C operator()(C x) const {
    return static_cast<C>(store<T>(x));
  }
};

template <class C, class T, class F>
TW_CLONES __attribute__((flatten)) void transform(const uint32_t* words, int64_t n, stored_t<T>* values,
                                                  F f) {
  for (int64_t i = 0; i < n; i++) values[i] = store<T>(f(uniform_at<C>(words, i)));
}

// Two normals of every two uniforms; reads and writes one more where n is odd.
template <class C, class T, class F>
TW_CLONES __attribute__((flatten)) void transform_pairs(const uint32_t* words, int64_t n, stored_t<T>* values,
                                                        F f) {
  for (int64_t i = 0; i < n; i += 2) {
    C first, second;
    normal_pair<math::Functions>(uniform_at<C>(words, i), uniform_at<C>(words, i + 1), first, second);
    values[i] = store<T>(f(first));
    values[i + 1] = store<T>(f(second));
  }
}

// An operand as it is or, where it is complex, its real and imaginary parts in a last dim of 2.
class RealParts {
 public:
  RealParts(const Operand& x, const RandomPart& part) : operand_(x), part_(part) {
    if (!is_complex(x.dtype)) return;
    sizes_ = *x.sizes;
    for (int64_t stride : *x.strides) strides_.push_back(2 * stride);
    sizes_.push_back(2);
    strides_.push_back(1);
    operand_ = {x.data, &sizes_, &strides_, real_of(x.dtype)};
    if (part.empty()) return;
    part_.insert(part_.begin() + x.rank(), 0);
    part_.push_back(2);
  }
  RealParts(const RealParts&) = delete;
  RealParts& operator=(const RealParts&) = delete;
  const Operand& operand() const { return operand_; }
  const RandomPart& part() const { return part_; }

 private:
  Dims sizes_, strides_;
  Operand operand_;
  RandomPart part_;
};

// out = f(u) for uniforms u of type C.
template <class C, class T, class F>
void fill_uniforms(const Operand& out, PhiloxKey key, const RandomPart& part, F f) {
  random_fill(out, key, part, kWordsEach<C>, [&](const uint32_t* words, int64_t n, void* values) {
    transform<C, T>(words, n, static_cast<stored_t<T>*>(values), f);
  });
}
template <class C, class T, class F>
void fill_normals(const Operand& out, PhiloxKey key, const RandomPart& part, F f) {
  random_fill(out, key, part, kWordsEach<C>, [&](const uint32_t* words, int64_t n, void* values) {
    transform_pairs<C, T>(words, n, static_cast<stored_t<T>*>(values), f);
  });
}

void uniform_kernel(KernelContext& k) {
  const auto& a = k.attrs<DistributionAttrs>();
  RealParts out(k.out(), a.part);
  dispatch_float(out.operand().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    using Formula = UniformFormula<math::Functions, C, RoundTo<T>>;
    fill_uniforms<C, T>(out.operand(), a.key, out.part(), Formula{C(a.a), C(a.b - a.a), C(a.b)});
  });
}

void normal_kernel(KernelContext& k) {
  const auto& a = k.attrs<DistributionAttrs>();
  RealParts out(k.out(), a.part);
  dispatch_float(out.operand().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    fill_normals<C, T>(out.operand(), a.key, out.part(),
                       NormalFormula<C>::of(a.a, a.b, is_complex(k.out().dtype)));
  });
}

void log_normal_kernel(KernelContext& k) {
  const auto& a = k.attrs<DistributionAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    fill_normals<C, T>(k.out(), a.key, a.part, LogNormalFormula<math::Functions, C>{C(a.a), C(a.b)});
  });
}

void exponential_kernel(KernelContext& k) {
  const auto& a = k.attrs<DistributionAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    fill_uniforms<C, T>(k.out(), a.key, a.part, ExponentialFormula<math::Functions, C>::of(a.a));
  });
}

void cauchy_kernel(KernelContext& k) {
  const auto& a = k.attrs<DistributionAttrs>();
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    fill_uniforms<C, T>(k.out(), a.key, a.part, CauchyFormula<math::Functions, C>{C(a.a), C(a.b)});
  });
}

void geometric_kernel(KernelContext& k) {
  const auto& a = k.attrs<DistributionAttrs>();
  auto formula = GeometricFormula<math::Functions>::of(a.a);
  dispatch_real(k.out().dtype, k.op,
                [&]<class T>() { fill_uniforms<double, T>(k.out(), a.key, a.part, formula); });
}

void integers_kernel(KernelContext& k) {
  const auto& a = k.attrs<IntegerAttrs>();
  auto formula = IntegersFormula::of(a.low, a.high);
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() {
    random_fill(k.out(), a.key, a.part, 2, [&](const uint32_t* words, int64_t n, void* values) {
      auto* out = static_cast<stored_t<T>*>(values);
      for (int64_t i = 0; i < n; i++) out[i] = store<T>(formula(wide_word(words[2 * i], words[2 * i + 1])));
    });
  });
}

// Words one after the other, for kernels that draw in sequence.
class WordStream {
 public:
  WordStream(PhiloxKey key, uint64_t first_block) : key_(key), block_(first_block) {}
  uint32_t word() {
    if (at_ == kRandomWords) {
      random_words(key_, block_, words_);
      block_ += kRandomWords / 4;
      at_ = 0;
    }
    return words_[at_++];
  }
  uint64_t wide() {
    uint32_t high = word();
    return wide_word(high, word());
  }
  double uniform() {
    uint32_t pair[] = {word(), word()};
    return uniform_at<double>(pair, 0);
  }

 private:
  PhiloxKey key_;
  uint64_t block_;
  int64_t at_ = kRandomWords;
  uint32_t words_[kRandomWords];
};

void permutation_kernel(KernelContext& k) {
  const auto& a = k.attrs<PermutationAttrs>();
  auto* out = k.out().as<int64_t>();
  WordStream stream(a.key, 0);
  for (int64_t i = 0; i < a.n; i++) out[i] = i;
  for (int64_t i = a.n - 1; i > 0; i--) {
    std::swap(out[i], out[static_cast<int64_t>(below(static_cast<uint64_t>(i) + 1, stream.wide()))]);
  }
}

// One row: `weights` are its n weights in double, `samples` its indices. False for weights that cannot be
// drawn from.
bool draw_row(const MultinomialAttrs& a, WordStream& stream, std::vector<double>& weights, int64_t* samples) {
  auto n = static_cast<int64_t>(weights.size());
  double total = 0;
  int64_t positive = 0;
  for (double w : weights) {
    if (!(w >= 0) || std::isinf(w)) return false;
    total += w;
    positive += w > 0;
  }
  if (total <= 0 || (!a.replacement && positive < a.num_samples)) return false;
  if (a.replacement) {
    double sum = 0;
    int64_t last = 0;  // of positive weight: rounding must not lead beyond it
    for (int64_t i = 0; i < n; i++) {
      if (weights[i] > 0) last = i;
      weights[i] = sum += weights[i];
    }
    for (int64_t i = 0; i < a.num_samples; i++) {
      auto found = std::upper_bound(weights.begin(), weights.end(), stream.uniform() * sum) - weights.begin();
      samples[i] = std::min<int64_t>(found, last);
    }
    return true;
  }
  std::vector<std::pair<double, int64_t>> clocks;
  for (int64_t i = 0; i < n; i++) {
    double u = stream.uniform();
    if (weights[i] > 0) clocks.emplace_back(ring_time(u, weights[i]), i);
  }
  std::partial_sort(clocks.begin(), clocks.begin() + a.num_samples, clocks.end());
  for (int64_t i = 0; i < a.num_samples; i++) samples[i] = clocks[i].second;
  return true;
}

void multinomial_kernel(KernelContext& k) {
  const auto& a = k.attrs<MultinomialAttrs>();
  const Operand& in = k.in(0);
  int64_t n = in.size(-1), rows = in.rank() == 2 ? in.size(0) : 1;
  int64_t step = in.stride(-1), row_step = in.rank() == 2 ? in.stride(0) : 0;
  // Every row has a stretch of the stream of its own.
  uint64_t blocks = multinomial_row_blocks(n, a.num_samples);
  int64_t first_row = a.part.empty() ? 0 : first_index(a.part, 0);
  std::atomic<bool> bad = false;
  dispatch_float(in.dtype, k.op, [&]<class T>() {
    parallel_for(0, rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)),
                 [&](int64_t first, int64_t last) {
                   std::vector<double> weights(static_cast<size_t>(n));
                   for (int64_t row = first; row < last; row++) {
                     for (int64_t i = 0; i < n; i++)
                       weights[i] = static_cast<double>(load<T>(in.as<T>()[row * row_step + i * step]));
                     WordStream stream(a.key, static_cast<uint64_t>(first_row + row) * blocks);
                     if (!draw_row(a, stream, weights, k.out().as<int64_t>() + row * a.num_samples))
                       bad = true;
                   }
                 });
  });
  TW_CHECK(!bad, kRuntime, kBadWeights);
}

}  // namespace

void kernels_distribution(KernelTable& table) {
  table.add("uniform", uniform_kernel);
  table.add("normal", normal_kernel);
  table.add("log_normal", log_normal_kernel);
  table.add("exponential", exponential_kernel);
  table.add("cauchy", cauchy_kernel);
  table.add("geometric", geometric_kernel);
  table.add("random_integers", integers_kernel);
  table.add("random_permutation", permutation_kernel);
  table.add("multinomial", multinomial_kernel);
}

}  // namespace tw::ops
