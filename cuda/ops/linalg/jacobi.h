// Singular values by one-sided Jacobi rotations (Hestenes; Demmel and Veselic, "Jacobi's method is more
// accurate than QR", 1992): pairs of columns of W = A V are made orthogonal, round after round of disjoint
// pairs, until all are to rounding; then the singular values are the sizes of the columns. A block has a
// matrix, whose columns lie as rows of memory, a warp a pair: 6 (m + n) n^2 flops a sweep, of which some 6 to
// 10 are needed, W and V read and written twice a sweep's round. The floor, LAPACK's 22 m n^2 flops at the
// device's rate, is far.
#pragma once

#include "cuda/ops/linalg/reflect.h"

namespace tw::cuda {

inline constexpr int kMostSweeps = 60;

void not_converged(const char* op, int64_t, int64_t matrix);
void not_finite(const char* op, int64_t, int64_t);

// Lane by lane over two rows of memory: the squared sizes of both and p^H q.
template <class T>
struct PairProducts {
  double pp = 0, qq = 0;
  T pq{};
  TW_DEVICE PairProducts(const T* p, const T* q, int64_t m) {
    for (int64_t i = lane_index(); i < m; i += kLanes) {
      double size = exact_size(p[i]), other = exact_size(q[i]);
      pp += size * size;
      qq += other * other;
      pq = pq + conjugated(p[i]) * q[i];
    }
    auto plus = [](auto a, auto b) { return a + b; };
    pp = warp_reduce(pp, plus);
    qq = warp_reduce(qq, plus);
    pq = warp_reduce(pq, plus);
  }
};

// p' = c p - s f q, q' = s p + c f q, with the phase f that makes p^H f q real.
template <class T>
struct Rotation {
  T phase;
  real_t<T> c, s;
  TW_DEVICE Rotation(const PairProducts<T>& of, real_t<T> size) {
    using R = real_t<T>;
    phase = conjugated(of.pq) / of_real<T>(size);
    double zeta = (of.qq - of.pp) / (2 * static_cast<double>(size));
    double t = std::copysign(1 / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
    double cosine = 1 / std::sqrt(1 + t * t);
    c = static_cast<R>(cosine);
    s = static_cast<R>(cosine * t);
  }
  TW_DEVICE void apply(T* p, T* q, int64_t m) const {
    for (int64_t i = lane_index(); i < m; i += kLanes) {
      T a = p[i], b = phase * q[i];
      p[i] = of_real<T>(c) * a - of_real<T>(s) * b;
      q[i] = of_real<T>(s) * a + of_real<T>(c) * b;
    }
  }
};

// w [n, m] and v [n, n] (or null), columns as rows: makes those of w orthogonal, and v the rotations.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    jacobi_kernel(T* ws, T* vs, int64_t m, int64_t n, MistakeNote failed) {
  T *w = ws + blockIdx.x * n * m, *v = vs ? vs + blockIdx.x * n * n : nullptr;
  constexpr double kEps = std::numeric_limits<real_t<T>>::epsilon();
  int64_t even = n + n % 2;
  bool rotated = n > 1;
  for (int sweep = 0; sweep < kMostSweeps && rotated; sweep++) {
    int any = 0;
    // Round by round every column but the first moves on by one place; the pairs are those opposite each
    // other.
    for (int64_t round = 0; round < even - 1; round++) {
      for (int64_t pair = warp_index(); pair < even / 2; pair += kFactorWarps) {
        int64_t p = pair == 0 ? 0 : 1 + (pair - 1 + round) % (even - 1);
        int64_t q = 1 + (even - 2 - pair + round) % (even - 1);
        if (p >= n || q >= n) continue;
        PairProducts<T> of(w + p * m, w + q * m, m);
        real_t<T> size = exact_size(of.pq);
        if (!(static_cast<double>(size) > kEps * std::sqrt(of.pp) * std::sqrt(of.qq))) continue;
        Rotation<T> rotation(of, size);
        rotation.apply(w + p * m, w + q * m, m);
        if (v) rotation.apply(v + p * n, v + q * n, n);
        any = 1;
      }
      __syncthreads();
    }
    rotated = block_reduce<kFactorThreads>(any, 0, LargerOrNan()) != 0;
  }
  if (rotated && threadIdx.x == 0) failed(0, blockIdx.x);
}

// The sizes of the columns, largest first, and the place of each in that order.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    order_columns_kernel(const T* ws, int64_t m, int64_t n, real_t<T>* sizes, int64_t* ranks,
                         real_t<T>* ordered, MistakeNote infinite) {
  const T* w = ws + blockIdx.x * n * m;
  real_t<T>* own = sizes + blockIdx.x * n;
  for (int64_t c = warp_index(); c < n; c += kFactorWarps) {
    PairProducts<T> of(w + c * m, w + c * m, m);
    if (lane_index() != 0) continue;
    if (!std::isfinite(of.pp)) infinite();
    own[c] = std::isfinite(of.pp) ? static_cast<real_t<T>>(std::sqrt(of.pp)) : real_t<T>(0);
  }
  __syncthreads();
  for (int64_t c = threadIdx.x; c < n; c += kFactorThreads) {
    int64_t rank = 0;
    for (int64_t other = 0; other < n; other++)
      rank += own[other] > own[c] || (own[other] == own[c] && other < c);
    ranks[blockIdx.x * n + c] = rank;
    ordered[blockIdx.x * n + rank] = own[c];
  }
}

// Columns that lie as rows of memory [n, m], as columns of [m, n] in their order, `reversed` the smallest
// first.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    place_columns_kernel(const T* from, const int64_t* ranks, int64_t m, int64_t n, T* to, int64_t elements,
                         bool reversed) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  int64_t matrix = e / (m * n), c = e / m % n, i = e % m, rank = ranks[matrix * n + c];
  to[(matrix * m + i) * n + (reversed ? n - 1 - rank : rank)] = from[e];
}

// Multiplies column c of q [m, width] by the sign of r's diagonal, so that q r's is not negative.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    turn_columns_kernel(T* q, const T* r, int64_t m, int64_t width, int64_t n, int64_t elements) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  int64_t matrix = e / (m * width), c = e % width;
  if (c >= n) return;
  T diagonal = r[(matrix * n + c) * n + c];
  bool negative;
  if constexpr (is_device_complex<T>)
    negative = diagonal.re < 0;
  else
    negative = diagonal < 0;
  if (negative) q[e] = T{} - q[e];
}

// A = U diag(s) V^H of matrices of at least as many rows as columns, which lie transposed: [count, n, m].
template <class T>
class Jacobi {
 public:
  Jacobi(const Matrices<T>& w, bool vectors, const char* op)
      : w_(w),
        v_(vectors ? w.count : 0, w.rows, w.rows),
        values_(static_cast<size_t>(2 * w.count * w.rows) * sizeof(real_t<T>)),
        ranks_(static_cast<size_t>(w.count * w.rows) * sizeof(int64_t)),
        op_(op) {
    int64_t n = w.rows, m = w.columns, squares = w.count * n * n;
    Grid blocks{static_cast<unsigned>(w.count), kFactorThreads};
    if (vectors) launch(op, identity_kernel<T>, by_threads(squares), v_.data(), n, squares, nullptr);
    launch(op, jacobi_kernel<T>, blocks, w.data(), vectors ? v_.data() : nullptr, m, n,
           mistake_note(op, not_converged));
    launch(op, order_columns_kernel<T>, blocks, w.data(), m, n,
           values_.template as<real_t<T>>() + w.count * n, ranks_.template as<int64_t>(),
           values_.template as<real_t<T>>(), mistake_note(op, not_finite));
  }
  // [count, n], the largest first.
  real_t<T>* values() const { return values_.template as<real_t<T>>(); }
  // [count, n, n], as columns.
  Matrices<T> v(bool reversed = false) const { return placed(v_, reversed); }
  // [count, m, width], as columns; those beyond n and those of zeros complete the others.
  Matrices<T> u(int64_t width) const {
    Matrices<T> columns = placed(w_, false);
    QrFactors<T> factors(columns, op_);
    Matrices<T> q = factors.q(width), r = factors.r(w_.rows);
    int64_t elements = q.count * q.rows * q.columns;
    launch(op_, turn_columns_kernel<T>, by_threads(elements), q.data(), r.data(), q.rows, width, w_.rows,
           elements);
    return q;
  }

 private:
  Matrices<T> placed(const Matrices<T>& from, bool reversed) const {
    Matrices<T> to(from.count, from.columns, from.rows);
    int64_t elements = from.count * from.rows * from.columns;
    launch(op_, place_columns_kernel<T>, by_threads(elements), from.data(), ranks_.template as<int64_t>(),
           from.columns, from.rows, to.data(), elements, reversed);
    return to;
  }
  const Matrices<T>& w_;
  Matrices<T> v_;
  DeviceScratch values_, ranks_;
  const char* op_;
};

}  // namespace tw::cuda
