// One pass. float and the half types add x - s and (x - s)² in double, where s is the first element of all:
// where a result lies near s, cancellation costs nothing that the input had. Should any result lie so far
// from s that it does, a second pass does all of them as it does double: it merges (count, mean, Σ²) triples
// by Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
// 1979.
#include <algorithm>
#include <cmath>

#include "device/cpu/dense.h"
#include "device/cpu/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

struct Moments {
  double mean, squares;  // Σ (x - mean)²
};
struct Sums {
  double sum, squares;
};
struct Triple {
  double count, mean, squares;
};

// delta² stands apart: it may overflow, and one side may be empty.
TW_INLINE Triple merged(Triple a, Triple b) {
  double count = a.count + b.count, delta = b.mean - a.mean;
  double share = count > 0 ? b.count / count : 0;
  return {count, a.mean + delta * share, a.squares + b.squares + delta * (delta * (a.count * share))};
}

template <class T>
void merge_triples(const Operand& in, const Operand& out, uint64_t mask) {
  reduce_loop<T, Triple, Moments>(
      in, out, mask, Triple{0, 0, 0}, [](Triple a, Triple b) { return merged(a, b); },
      [](Triple t) { return Moments{t.count > 0 ? t.mean : NAN, t.squares}; },
      [](compute_t<T> x) { return Triple{1, static_cast<double>(x), 0}; });
}

template <class T>
void add_shifted(const Operand& in, const Operand& out, uint64_t mask, double count, double shift) {
  reduce_loop<T, Sums, Moments>(
      in, out, mask, Sums{0, 0}, [](Sums a, Sums b) { return Sums{a.sum + b.sum, a.squares + b.squares}; },
      [count, shift](Sums s) {
        double squares = s.squares - s.sum * s.sum / count;
        return Moments{shift + s.sum / count, squares < 0 ? 0 : squares};
      },
      [shift](compute_t<T> x) {
        double d = static_cast<double>(x) - shift;
        return Sums{d, d * d};
      });
}

// Whether the difference of two sums kept fewer digits than float has.
bool cancelled(const Moments& m, double count, double shift) {
  constexpr double kKept = 1e-8;
  double distance = m.mean - shift;
  return m.squares < kKept * count * distance * distance;
}

template <class T>
void reduce_moments(const Operand& in, const Operand& out, uint64_t mask, double count) {
  if constexpr (!std::is_same_v<T, double>) {
    double shift = in.count() > 0 ? static_cast<double>(load<T>(*in.as<stored_t<T>>())) : 0;
    if (!std::isfinite(shift)) shift = 0;
    add_shifted<T>(in, out, mask, count, shift);
    const Moments* found = out.as<Moments>();
    auto is_cancelled = [&](const Moments& m) { return cancelled(m, count, shift); };
    if (std::none_of(found, found + out.count(), is_cancelled)) return;
  }
  merge_triples<T>(in, out, mask);
}

void moments_kernel(KernelContext& k) {
  const auto& a = k.attrs<MomentsAttrs>();
  int64_t outputs = k.out(0).count();
  if (outputs == 0) return;
  Dims dims = a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims();
  uint64_t mask = reduce_mask(dims, k.in(0).rank());
  double count = static_cast<double>(k.in(0).count() / outputs);
  ScratchArray<Moments> found(outputs);
  Operand target{found.data(), k.out(0).sizes, k.out(0).strides, k.out(0).dtype};
  dispatch_float(k.in(0).dtype, k.op, [&]<class T>() {
    reduce_moments<T>(k.in(0), target, mask, count);
    double freedom = std::max(0.0, count - a.correction);
    for (int64_t i = 0; i < outputs; i++) {
      double variance = found[i].squares / freedom;
      k.out(0).as<stored_t<T>>()[i] = store<T>(a.root ? std::sqrt(variance) : variance);
      k.out(1).as<stored_t<T>>()[i] = store<T>(found[i].mean);
    }
  });
}

}  // namespace

void kernels_moments(KernelTable& table) { table.add("moments", moments_kernel); }

}  // namespace tw::ops
