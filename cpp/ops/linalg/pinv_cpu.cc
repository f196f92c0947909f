// LAPACK's gesdd, about 22 m n min(m, n) flops (or, for Hermitian matrices, syevd and 9 n³), and a product of
// 2 m n min(m, n).
#include "ops/linalg/pinv.h"

#include "device/cpu/gemm.h"
#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
T conjugate(T value) {
  if constexpr (is_complex_type<T>) return std::conj(value);
  return value;
}

// Multiplies column i of u [m, k] by 1 / s[i], or by 0 where |s[i]| does not exceed the tolerance.
template <class T>
void divide_columns(int64_t m, int64_t k, T* u, const real_part_t<T>* s, real_part_t<T> atol,
                    real_part_t<T> rtol) {
  real_part_t<T> largest = 0;
  for (int64_t i = 0; i < k; i++) largest = std::max(largest, std::abs(s[i]));
  real_part_t<T> cutoff = std::max(atol, rtol * largest);
  for (int64_t i = 0; i < k; i++) {
    real_part_t<T> factor = std::abs(s[i]) > cutoff ? 1 / s[i] : 0;
    for (int64_t row = 0; row < m; row++) u[row + i * m] *= factor;
  }
}

// a[m, n] is overwritten; out[n, m], in rows, is V diag(1 / s) Uᴴ over the values above the tolerance.
template <class T>
int invert(int64_t m, int64_t n, T* a, real_part_t<T> atol, real_part_t<T> rtol, T* out) {
  int64_t k = std::min(m, n);
  ScratchArray<T> u(m * k), vh(k * n), adjoint(m * n);
  ScratchArray<real_part_t<T>> s(k);
  int info = singular_values('S', static_cast<int>(m), static_cast<int>(n), a, s.data(), u.data(), vh.data());
  if (info != 0) return info;
  divide_columns(m, k, u.data(), s.data(), atol, rtol);
  gemm<T>(m, n, k, T(1), {u.data(), 1, m}, {vh.data(), 1, k}, T(0), adjoint.data(), n);
  for (int64_t row = 0; row < n; row++)
    for (int64_t column = 0; column < m; column++)
      out[row * m + column] = conjugate(adjoint[column * n + row]);
  return 0;
}

// The same for a Hermitian a[n, n] = Q diag(w) Qᴴ.
template <class T>
int invert_hermitian(int64_t n, T* a, real_part_t<T> atol, real_part_t<T> rtol, T* out) {
  ScratchArray<real_part_t<T>> w(n);
  ScratchArray<T> adjoint(n * n);
  int info = hermitian_eigen(true, 'L', static_cast<int>(n), a, w.data());
  if (info != 0) return info;
  for (int64_t i = 0; i < n * n; i++) adjoint[i] = conjugate(a[i]);  // Qᴴ, row by row
  divide_columns(n, n, a, w.data(), atol, rtol);
  gemm<T>(n, n, n, T(1), {a, 1, n}, {adjoint.data(), n, 1}, T(0), out, n);
  return 0;
}

void pinv_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  bool hermitian = k.attrs<PinvAttrs>().hermitian;
  auto [count, m, n] = batch_of(k.in(0), k.op);
  Dims batch(k.in(0).sizes->begin(), k.in(0).sizes->end() - 2);
  Failures failures(count);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, m = m, n = n]<class T>() {
    ColumnMajor<T> a(k.in(0));
    check_finite(a.matrix(0), k.in(0).count(), k.op);
    Dense<real_part_t<T>> atol(k.in(1), batch), rtol(k.in(2), batch);
    T* out = k.out().as<T>();
    for_each_matrix(count, 24.0 * static_cast<double>(m * n * std::min(m, n)), [&](int64_t i) {
      failures[i] = hermitian ? invert_hermitian(n, a.matrix(i), atol[i], rtol[i], out + i * n * n)
                              : invert(m, n, a.matrix(i), atol[i], rtol[i], out + i * m * n);
    });
  });
  failures.check([&](int64_t i, int) {
    TW_FAIL(kRuntime, k.op, ": the iteration did not converge for matrix ", i, " of the batch");
  });
}

}  // namespace

void kernels_pinv(KernelTable& table) { table.add("pinv_matrices", pinv_kernel); }

}  // namespace tw::ops
