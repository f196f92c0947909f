// Scaling and squaring with the Padé approximant of degree 13: Higham, "The scaling and squaring method for
// the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26 (2005). 7 products, one solution, and a
// product for each halving: some 30 n³ flops.
//
// Rows are read as LAPACK's columns: it is exp(Aᵀ) = exp(A)ᵀ that is computed, and all factors commute.
#include <cmath>
#include <limits>

#include "device/cpu/contiguous.h"
#include "device/cpu/gemm.h"
#include "ops/linalg/factor_cpu.h"
#include "ops/linalg/matrix_exp_formula.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
void multiply(int64_t n, const T* a, const T* b, T* out) {
  gemm<T>(n, n, n, T(1), {a, n, 1}, {b, n, 1}, T(0), out, n);
}

// out = c₀ + c₂ a2 + c₄ a4 + c₆ a6
template <class T>
void combine(int64_t n, const double* c, const T* a2, const T* a4, const T* a6, T* out) {
  using R = real_part_t<T>;
  for (int64_t i = 0; i < n * n; i++)
    out[i] = static_cast<R>(c[2]) * a2[i] + static_cast<R>(c[4]) * a4[i] + static_cast<R>(c[6]) * a6[i];
  for (int64_t i = 0; i < n; i++) out[i * (n + 1)] += static_cast<R>(c[0]);
}

// The largest sum of a row.
template <class T>
double norm(int64_t n, const T* a) {
  double largest = 0;
  for (int64_t row = 0; row < n; row++) {
    double sum = 0;
    for (int64_t column = 0; column < n; column++) sum += static_cast<double>(std::abs(a[row * n + column]));
    if (!(sum <= largest)) largest = sum;  // NaN stays
  }
  return largest;
}

// a[n, n] becomes its exponential.
template <class T>
void exponentiate(int64_t n, T* a) {
  using R = real_part_t<T>;
  double size = norm(n, a);
  if (!std::isfinite(size)) {
    std::fill_n(a, n * n, T(std::numeric_limits<R>::quiet_NaN()));
    return;
  }
  int halvings =
      size > kPadeLargestNorm ? static_cast<int>(std::ceil(std::log2(size / kPadeLargestNorm))) : 0;
  for (int64_t i = 0; i < n * n; i++) a[i] *= static_cast<R>(std::ldexp(1.0, -halvings));
  ScratchArray<T> memory(6 * n * n);
  T *a2 = memory.data(), *a4 = a2 + n * n, *a6 = a4 + n * n, *u = a6 + n * n, *v = u + n * n,
    *part = v + n * n;
  multiply(n, a, a, a2);
  multiply(n, a2, a2, a4);
  multiply(n, a2, a4, a6);
  // u = a (a6 (c₁₃ a6 + c₁₁ a4 + c₉ a2) + c₇ a6 + c₅ a4 + c₃ a2 + c₁), v alike with the even coefficients.
  const double high_odd[] = {0, 0, kPade[9], 0, kPade[11], 0, kPade[13]};
  const double high_even[] = {0, 0, kPade[8], 0, kPade[10], 0, kPade[12]};
  combine(n, high_odd, a2, a4, a6, part);
  multiply(n, a6, part, v);
  combine(n, kPade + 1, a2, a4, a6, part);
  for (int64_t i = 0; i < n * n; i++) part[i] += v[i];
  multiply(n, a, part, u);
  combine(n, high_even, a2, a4, a6, part);
  multiply(n, a6, part, v);
  combine(n, kPade, a2, a4, a6, part);
  for (int64_t i = 0; i < n * n; i++) v[i] += part[i];
  // (v - u) x = v + u
  ScratchArray<int> pivots(n);
  for (int64_t i = 0; i < n * n; i++) {
    a2[i] = v[i] - u[i];
    a[i] = v[i] + u[i];
  }
  auto rows = static_cast<int>(n);
  lu_factor(rows, rows, a2, pivots.data());
  lu_solve('N', rows, rows, a2, pivots.data(), a);
  for (int i = 0; i < halvings; i++) {
    multiply(n, a, a, u);
    std::copy_n(u, n * n, a);
  }
}

void matrix_exp_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  auto [count, n, columns] = batch_of(k.in(0), k.op);
  dispatch_float_complex(k.in(0).dtype, k.op, [&, count = count, n = n]<class Stored>() {
    using T = std::conditional_t<is_half_type<Stored>, float, Stored>;
    ConvertedResult<T> result(k.out());
    copy_cast({result.data(), k.out().sizes, k.out().strides, dtype_of<T>}, k.in(0));
    for_each_matrix(count, 30.0 * static_cast<double>(n * n * n),
                    [&](int64_t i) { exponentiate(n, result.data() + i * n * n); });
    result.finish();
  });
}

}  // namespace

void kernels_matrix_exp(KernelTable& table) { table.add("matrix_exp", matrix_exp_kernel); }

}  // namespace tw::ops
