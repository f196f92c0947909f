// LAPACK's gesdd, about 22 m n min(m, n) flops, and a product of 2 m n min(m, n).
#include "device/cpu/gemm.h"
#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

// a[m, n] is overwritten; out[n, m], in rows, is V diag(1 / s) Uᴴ over the values above the tolerance.
template <class T>
int invert(int64_t m, int64_t n, T* a, real_part_t<T> atol, real_part_t<T> rtol, T* out) {
  int64_t k = std::min(m, n);
  ScratchArray<T> u(m * k), vh(k * n), adjoint(m * n);
  ScratchArray<real_part_t<T>> s(k);
  int info = singular_values('S', static_cast<int>(m), static_cast<int>(n), a, s.data(), u.data(), vh.data());
  if (info != 0) return info;
  real_part_t<T> cutoff = std::max(atol, rtol * s[0]);
  for (int64_t i = 0; i < k; i++) {
    real_part_t<T> factor = s[i] > cutoff ? 1 / s[i] : 0;
    for (int64_t row = 0; row < m; row++) u[row + i * m] *= factor;
  }
  gemm<T>(m, n, k, T(1), {u.data(), 1, m}, {vh.data(), 1, k}, T(0), adjoint.data(), n);
  for (int64_t row = 0; row < n; row++)
    for (int64_t column = 0; column < m; column++) {
      T value = adjoint[column * n + row];
      if constexpr (is_complex_type<T>) value = std::conj(value);
      out[row * m + column] = value;
    }
  return 0;
}

void pinv_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  auto [count, m, n] = batch_of(k.in(0), k.op);
  Dims batch(k.in(0).sizes->begin(), k.in(0).sizes->end() - 2);
  Failures failures(count);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, m = m, n = n]<class T>() {
    ColumnMajor<T> a(k.in(0));
    check_finite(a.matrix(0), k.in(0).count(), k.op);
    Dense<real_part_t<T>> atol(k.in(1), batch), rtol(k.in(2), batch);
    T* out = k.out().as<T>();
    for_each_matrix(count, 24.0 * static_cast<double>(m * n * std::min(m, n)), [&](int64_t i) {
      failures[i] = invert(m, n, a.matrix(i), atol[i], rtol[i], out + i * m * n);
    });
  });
  failures.check([&](int64_t i, int) {
    TW_FAIL(kRuntime, k.op, ": the iteration did not converge for matrix ", i, " of the batch");
  });
}

}  // namespace

void kernels_pinv(KernelTable& table) { table.add("pinv_matrices", pinv_kernel); }

}  // namespace tw::ops
