// eigh, eigvalsh, of symmetric and Hermitian matrices, from one triangle. With twice its norm on the diagonal
// the matrix is positive definite and well conditioned, its singular vectors are the eigenvectors, and each
// eigenvalue is v^H A v. Jacobi's rotations, a block a matrix (jacobi.h has the bytes, the flops and the
// floor), and 2 n^3 flops for the values.
//
// Per element: 150 n bytes and 100 n operations (eigh of n x n, float32, 8 sweeps).
#include "ops/linalg/eigh.h"

#include "cuda/ops/linalg/jacobi.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// a becomes Hermitian by one of its triangles; shifted: with twice the largest sum of a row on its diagonal.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    shift_kernel(T* matrices, T* shifted, int64_t n, bool upper) {
  using R = real_t<T>;
  T *a = matrices + blockIdx.x * n * n, *out = shifted + blockIdx.x * n * n;
  R largest = largest_row_sum<R>(n, [&](int64_t i, int64_t c) {
    bool kept = upper ? c >= i : c <= i;
    T value = kept ? a[i * n + c] : conjugated(a[c * n + i]);
    if constexpr (is_device_complex<T>)
      if (c == i) value.im = 0;
    out[i * n + c] = value;
    return exact_size(value);
  });
  for (int64_t e = threadIdx.x; e < n * n; e += kFactorThreads) {
    T value = out[e];
    a[e] = value;
    // The same for all zeros, so that these have vectors too.
    if (e / n == e % n) out[e] = value + of_real<T>(largest > 0 ? 2 * largest : R(1));
  }
}

// A warp a vector, column c of v: its eigenvalue.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    rayleigh_kernel(const T* matrices, const T* vs, int64_t n, int64_t tasks, real_t<T>* values) {
  int64_t task = static_cast<int64_t>(blockIdx.x) * kFactorWarps + warp_index();
  if (task >= tasks) return;
  const T *a = matrices + task / n * n * n, *v = vs + task / n * n * n;
  int64_t c = task % n;
  double value = 0;
  for (int64_t i = 0; i < n; i++) {
    T along{};
    for (int64_t j = lane_index(); j < n; j += kLanes) along = along + a[i * n + j] * v[j * n + c];
    T own = conjugated(v[i * n + c]) * along;
    if constexpr (is_device_complex<T>)
      value += own.re;
    else
      value += own;
  }
  value = warp_reduce(value, [](double p, double q) { return p + q; });
  if (lane_index() == 0) values[task] = static_cast<real_t<T>>(value);
}

template <bool kVectors>
void eigh(KernelContext& k) {
  if (k.out(0).count() == 0) return;
  const std::string& triangle = k.attrs<ops::EighAttrs>().UPLO;
  bool upper = triangle == "U" || triangle == "u";
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), *k.in(0).sizes, false, k.op), shifted(a.count, a.rows, a.rows);
    launch(k.op, shift_kernel<T>, {static_cast<unsigned>(a.count), kFactorThreads}, a.data(), shifted.data(),
           a.rows, upper);
    if constexpr (is_device_complex<T>)  // rows of a Hermitian matrix are its columns, conjugated
      launch(k.op, conjugate_kernel<T>, by_threads(k.in(0).count()), shifted.data(), k.in(0).count());
    Jacobi<T> jacobi(shifted, true, k.op);
    Matrices<T> v = jacobi.v(true);
    int64_t tasks = a.count * a.rows;
    launch(k.op, rayleigh_kernel<T>, by_warps(tasks), a.data(), v.data(), a.rows, tasks,
           k.out(0).template as<real_t<T>>());
    if constexpr (kVectors) v.write_to(k.out(1), false, k.op);
  });
}

}  // namespace

void kernels_eigh(device::KernelTable& table) {
  table.add("linalg_eigh", eigh<true>);
  table.add("linalg_eigvalsh", eigh<false>);
}

}  // namespace tw::cuda
