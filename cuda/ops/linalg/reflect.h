// QR factors by Householder's reflections, as LAPACK's geqrf and orgqr have them: H = I - tau v v^H with v =
// 1 at the pivot, R's diagonal real, Q = H0 H1 ... A block has a matrix, and a warp a column of it: 2 m n k
// flops for the factors, as many again for Q. What is left of the matrix is read and written once a column;
// the floor is the flops at the device's rate.
#pragma once

#include "cuda/common/rows.h"
#include "cuda/ops/linalg/factor.h"

namespace tw::cuda {

// The column that a warp has, less what a reflection takes from it: factor v (v^H column).
template <class T>
TW_DEVICE void reflect(const T* v, int64_t v_step, T* column, int64_t step, int64_t first, int64_t m,
                       T factor) {
  T along{};
  for (int64_t i = first + lane_index(); i < m; i += kLanes) {
    T own = i == first ? of_real<T>(1) : v[i * v_step];
    along = along + conjugated(own) * column[i * step];
  }
  along = factor * warp_reduce(along, [](T p, T q) { return p + q; });
  for (int64_t i = first + lane_index(); i < m; i += kLanes) {
    T own = i == first ? of_real<T>(1) : v[i * v_step];
    column[i * step] = column[i * step] - own * along;
  }
}

// What makes a column's rest below the pivot zero. below: the squared size of that rest.
template <class T>
struct Reflection {
  T tau, scale;  // of what is below the pivot
  double beta;   // what the pivot becomes
  bool none;
  TW_DEVICE Reflection(T alpha, double below) {
    double re, im = 0;
    if constexpr (is_device_complex<T>)
      re = alpha.re, im = alpha.im;
    else
      re = alpha;
    none = below == 0 && im == 0;
    beta = none ? re : -std::copysign(std::sqrt(re * re + im * im + below), re);
    tau = scale = T{};
    if (none) return;
    using R = real_t<T>;
    if constexpr (is_device_complex<T>) {
      tau = {static_cast<R>((beta - re) / beta), static_cast<R>(-im / beta)};
      scale = of_real<T>(1) / T{static_cast<R>(re - beta), static_cast<R>(im)};
    } else {
      tau = static_cast<R>((beta - re) / beta);
      scale = static_cast<R>(1 / (re - beta));
    }
  }
};

// R above the diagonal, the reflections' v below it.
template <class T>
__global__ void __launch_bounds__(kFactorThreads) qr_kernel(T* matrices, int64_t m, int64_t n, T* taus) {
  T* a = matrices + blockIdx.x * m * n;
  int64_t small = m < n ? m : n;
  for (int64_t j = 0; j < small; j++) {
    double below = 0;
    for (int64_t i = j + 1 + threadIdx.x; i < m; i += kFactorThreads) {
      double size = exact_size(a[i * n + j]);
      below += size * size;
    }
    below = block_reduce<kFactorThreads>(below, 0.0, Plus());
    Reflection<T> h(a[j * n + j], below);
    __syncthreads();
    for (int64_t i = j + 1 + threadIdx.x; i < m && !h.none; i += kFactorThreads)
      a[i * n + j] = a[i * n + j] * h.scale;
    if (threadIdx.x == 0) {
      a[j * n + j] = of_real<T>(static_cast<real_t<T>>(h.beta));
      taus[blockIdx.x * small + j] = h.tau;
    }
    __syncthreads();
    for (int64_t c = j + 1 + warp_index(); c < n && !h.none; c += kFactorWarps)
      reflect(a + j, n, a + c, n, j, m, conjugated(h.tau));
    __syncthreads();
  }
}

// Q's first `width` columns.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    form_q_kernel(const T* factors, const T* taus, int64_t m, int64_t n, T* q, int64_t width) {
  const T* a = factors + blockIdx.x * m * n;
  T* own = q + blockIdx.x * m * width;
  int64_t small = m < n ? m : n;
  for (int64_t c = warp_index(); c < width; c += kFactorWarps) {
    for (int64_t i = lane_index(); i < m; i += kLanes) own[i * width + c] = of_real<T>(i == c ? 1 : 0);
    __syncwarp();
    for (int64_t j = small - 1; j >= 0; j--) {
      reflect(a + j, n, own + c, width, j, m, taus[blockIdx.x * small + j]);
      __syncwarp();
    }
  }
}

// The upper triangle of the factors as r [rows, n].
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    take_r_kernel(const T* factors, int64_t m, int64_t n, T* r, int64_t rows, int64_t elements) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  auto [matrix, i, c] = matrix_place(e, rows, n);
  r[e] = c >= i && i < m ? factors[(matrix * m + i) * n + c] : T{};
}

// The factors of a batch of matrices [m, n], which they overwrite.
template <class T>
class QrFactors {
 public:
  QrFactors(Matrices<T>& a, const char* op)
      : a_(a), taus_(static_cast<size_t>(a.count * std::min(a.rows, a.columns)) * sizeof(T)), op_(op) {
    launch(op, qr_kernel<T>, blocks(), a.data(), a.rows, a.columns, taus_.template as<T>());
  }
  Matrices<T> q(int64_t width) const {
    Matrices<T> result(a_.count, a_.rows, width);
    launch(op_, form_q_kernel<T>, blocks(), a_.data(), taus_.template as<T>(), a_.rows, a_.columns,
           result.data(), width);
    return result;
  }
  Matrices<T> r(int64_t rows) const {
    Matrices<T> result(a_.count, rows, a_.columns);
    int64_t elements = a_.count * rows * a_.columns;
    launch(op_, take_r_kernel<T>, by_threads(elements), a_.data(), a_.rows, a_.columns, result.data(), rows,
           elements);
    return result;
  }

 private:
  Grid blocks() const { return {static_cast<unsigned>(a_.count), kFactorThreads}; }
  Matrices<T>& a_;
  DeviceScratch taus_;
  const char* op_;
};

}  // namespace tw::cuda
