// svd, svdvals: Jacobi's rotations, a block a matrix, and reflections for U (jacobi.h has the bytes, the
// flops and the floor). Of a matrix with more columns than rows it is the adjoint that is taken apart.
//
// Per element: 150 n bytes and 100 n operations (svd of n x n, float32, 8 sweeps).
#include "ops/linalg/svd.h"

#include "cuda/ops/linalg/jacobi.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

void not_converged(const char* op, int64_t, int64_t matrix) {
  TW_FAIL(kRuntime, op, ": the iteration did not converge for matrix ", matrix, " of the batch");
}

void not_finite(const char* op, int64_t, int64_t) {
  TW_FAIL(kRuntime, op, ": finite numbers are wanted, the input holds NaN or infinity");
}

namespace {

// out = conj(a^T), or a.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    write_factor_kernel(const T* from, int64_t rows, int64_t columns, T* to, int64_t elements, bool adjoint) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  auto [matrix, i, c] = matrix_place(e, rows, columns);
  to[adjoint ? (matrix * columns + c) * rows + i : e] = adjoint ? conjugated(from[e]) : from[e];
}

template <class T>
void write_factor(const Matrices<T>& from, const Operand& to, bool adjoint, const char* op) {
  int64_t elements = from.count * from.rows * from.columns;
  launch(op, write_factor_kernel<T>, by_threads(elements), from.data(), from.rows, from.columns, to.as<T>(),
         elements, adjoint);
}

void write_values(const Operand& to, const void* from, const char* op) {
  check(cudaMemcpyAsync(to.data, from, static_cast<size_t>(to.count() * size_of(to.dtype)), cudaMemcpyDefault,
                        current_stream()),
        op);
}

// The columns of a [m, n] as rows of memory, where m >= n; else those of its adjoint.
template <class T>
Matrices<T> columns_of(const Operand& a, const char* op) {
  bool wide = a.size(-2) < a.size(-1);
  Matrices<T> columns(a, *a.sizes, !wide, op);
  if constexpr (is_device_complex<T>) {
    if (wide) {
      int64_t elements = a.count();
      launch(op, conjugate_kernel<T>, by_threads(elements), columns.data(), elements);
    }
  }
  return columns;
}

void svd(KernelContext& k) {
  const Operand &a = k.in(0), &u = k.out(0), &s = k.out(1), &vh = k.out(2);
  dispatch_factors(a.dtype, k.op, [&]<class T>() {
    auto identities = [&](const Operand& to) {
      if (to.count())
        launch(k.op, identity_kernel<T>, by_threads(to.count()), to.as<T>(), to.size(-1), to.count(),
               nullptr);
    };
    if (s.count() == 0) {  // what a factor of no singular values is
      identities(u);
      return identities(vh);
    }
    bool wide = a.size(-2) < a.size(-1);
    Matrices<T> w = columns_of<T>(a, k.op);
    Jacobi<T> jacobi(w, true, k.op);
    write_values(s, jacobi.values(), k.op);
    write_factor(jacobi.u(wide ? vh.size(-2) : u.size(-1)), wide ? vh : u, wide, k.op);
    write_factor(jacobi.v(), wide ? u : vh, !wide, k.op);
  });
}

void svdvals(KernelContext& k) {
  if (k.out().count() == 0) return;
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> w = columns_of<T>(k.in(0), k.op);
    Jacobi<T> jacobi(w, false, k.op);
    write_values(k.out(), jacobi.values(), k.op);
  });
}

}  // namespace

void kernels_svd(device::KernelTable& table) {
  table.add("linalg_svd", svd);
  table.add("linalg_svdvals", svdvals);
}

}  // namespace tw::cuda
