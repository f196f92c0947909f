// det, slogdet and cofactors. The first two are products of the pivots of LU factors, 2/3 n^3 flops.
//
// Cofactors, the gradient of det, exist for singular matrices too. With rows and columns exchanged so that
// the largest element that is left is each pivot, P A Q = L U and
//   adj(A) = +-Q adj(U) L^-1 P, adj(U) = [e d V^-1, -d V^-1 u; 0, d] of U = [V, u; 0, e] and d = det(V),
// in which nothing is divided by e, the smallest pivot. Where a pivot of V is 0 as well, all cofactors are 0.
// In double throughout; 8/3 n^3 flops, and each pivot is looked for in all that is left.
//
// A block factors a matrix, a warp solves for a column: factor.h has the floor.
//
// Per element: 8 n bytes and 2/3 n operations (det of n x n, float32).
#include "cuda/ops/linalg/factor.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

TW_DEVICE bool odd_exchanges(const int32_t* pivots, int64_t n) {
  bool odd = false;
  for (int64_t i = 0; i < n; i++) odd ^= pivots[i] != i + 1;
  return odd;
}

// A thread a matrix.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    det_kernel(const T* lu, const int32_t* pivots, int64_t n, int64_t count, T* out) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (i >= count) return;
  T result = of_real<T>(odd_exchanges(pivots + i * n, n) ? -1 : 1);
  for (int64_t d = 0; d < n; d++) result = result * lu[(i * n + d) * n + d];
  out[i] = result;
}

template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    slogdet_kernel(const T* lu, const int32_t* pivots, int64_t n, int64_t count, T* signs, real_t<T>* logs) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (i >= count) return;
  T sign = of_real<T>(odd_exchanges(pivots + i * n, n) ? -1 : 1);
  double log = 0;
  for (int64_t d = 0; d < n; d++) {
    T pivot = lu[(i * n + d) * n + d];
    real_t<T> size = exact_size(pivot);
    sign = size == 0 ? T{} : sign * (pivot / of_real<T>(size));
    log += std::log(static_cast<double>(size));
  }
  signs[i] = sign;
  logs[i] = static_cast<real_t<T>>(log);
}

// body(factors, pivots, count, n) of the matrices of input 0.
template <class Body>
void with_factors(KernelContext& k, const Body& body) {
  if (k.out(0).count() == 0) return;
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), *k.in(0).sizes, false, k.op);
    LuFactors<T> factors(a, nullptr, nullptr, false, k.op);
    body(static_cast<const T*>(a.data()), static_cast<const int32_t*>(factors.pivots), a.count, a.rows);
  });
}

void det(KernelContext& k) {
  with_factors(k, [&]<class T>(const T* lu, const int32_t* pivots, int64_t count, int64_t n) {
    launch(k.op, det_kernel<T>, by_threads(count), lu, pivots, n, count, k.out().as<T>());
  });
}

void slogdet(KernelContext& k) {
  with_factors(k, [&]<class T>(const T* lu, const int32_t* pivots, int64_t count, int64_t n) {
    launch(k.op, slogdet_kernel<T>, by_threads(count), lu, pivots, n, count, k.out(0).as<T>(),
           k.out(1).as<real_t<T>>());
  });
}

// P A Q = L U in place; which row and column each one was exchanged with, from 1.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    full_lu_kernel(T* matrices, int64_t n, int32_t* rows, int32_t* columns) {
  T* a = matrices + blockIdx.x * n * n;
  for (int64_t j = 0; j < n; j++) {
    double size = -1;
    int64_t at = n * n, left = n - j;
    for (int64_t e = threadIdx.x; e < left * left; e += kFactorThreads) {
      int64_t place = (j + e / left) * n + j + e % left;
      double own = rough_size(a[place]);
      if (own > size) size = own, at = place;
    }
    double most = block_reduce<kFactorThreads>(size, -1.0, LargerOrNan());
    int64_t place = block_reduce<kFactorThreads>(size == most ? at : n * n, n * n, Smaller());
    int64_t row = place < n * n ? place / n : j, column = place < n * n ? place % n : j;
    exchange_rows(a, n, j, row);
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n && column != j; i += kFactorThreads) {
      T kept = a[i * n + j];
      a[i * n + j] = a[i * n + column];
      a[i * n + column] = kept;
    }
    if (threadIdx.x == 0) {
      rows[blockIdx.x * n + j] = static_cast<int32_t>(row + 1);
      columns[blockIdx.x * n + j] = static_cast<int32_t>(column + 1);
    }
    __syncthreads();
    eliminate(a, n, n, j);
  }
}

// A warp a column x, which becomes adj(U) x with the sign of the exchanges.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    adjugate_kernel(const T* factors, const int32_t* rows, const int32_t* columns, T* x, int64_t n,
                    int64_t tasks) {
  int64_t task = static_cast<int64_t>(blockIdx.x) * kFactorWarps + warp_index();
  if (task >= tasks) return;
  const T* u = factors + task / n * n * n;
  const int32_t *own_rows = rows + task / n * n, *own_columns = columns + task / n * n;
  T* column = x + task * n;
  T det = of_real<T>(odd_exchanges(own_rows, n) != odd_exchanges(own_columns, n) ? -1 : 1);
  bool zero = false;
  for (int64_t i = 0; i < n - 1; i++) {
    T pivot = u[i * n + i];
    zero = zero || pivot == T{};
    det = det * pivot;
  }
  T last = column[n - 1], smallest = u[n * n - 1];
  __syncwarp();
  for (int64_t i = lane_index(); i < n; i += kLanes) {
    T value = i == n - 1 ? last : smallest * column[i] - u[i * n + n - 1] * last;
    column[i] = zero ? T{} : det * value;
  }
  __syncwarp();
  for (int64_t i = n - 2; i >= 0 && !zero; i--) {
    T known{};
    for (int64_t c = i + 1 + lane_index(); c < n - 1; c += kLanes) known = known + u[i * n + c] * column[c];
    known = warp_reduce(known, [](T p, T q) { return p + q; });
    if (lane_index() == 0) column[i] = (column[i] - known) / u[i * n + i];
    __syncwarp();
  }
}

void cofactor(KernelContext& k) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  auto run = [&]<class T>() {
    Matrices<T> a(k.in(0), *out.sizes, false, k.op), x(a.count, a.rows, a.rows);
    int64_t n = a.rows, tasks = a.count * n;
    DeviceScratch exchanges(static_cast<size_t>(2 * tasks) * sizeof(int32_t));
    auto *rows = exchanges.as<int32_t>(), *columns = rows + tasks;
    launch(k.op, full_lu_kernel<T>, {static_cast<unsigned>(a.count), kFactorThreads}, a.data(), n, rows,
           columns);
    launch(k.op, identity_kernel<T>, by_threads(tasks * n), x.data(), n, tasks * n, nullptr);
    MistakeNote never = mistake_note(k.op, no_pivot);
    launch(k.op, exchange_kernel<T>, by_threads(tasks), x.data(), rows, n, n, tasks, false, never);
    solve_triangles<T>(a.data(), x, {false, true}, k.op);
    launch(k.op, adjugate_kernel<T>, by_warps(tasks), a.data(), rows, columns, x.data(), n, tasks);
    launch(k.op, exchange_kernel<T>, by_threads(tasks), x.data(), columns, n, n, tasks, true, never);
    x.write_to(out, false, k.op);  // columns of the adjugate are rows of the cofactors
  };
  if (is_complex(out.dtype))
    run.template operator()<Complex<double>>();
  else
    run.template operator()<double>();
}

}  // namespace

void kernels_determinant(device::KernelTable& table) {
  table.add("linalg_det", det);
  table.add("linalg_slogdet", slogdet);
  table.add("linalg_cofactor", cofactor);
}

}  // namespace tw::cuda
