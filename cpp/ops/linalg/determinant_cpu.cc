// Determinants are the product of the pivots of LU factors: 2/3 n³ flops. Cofactors are det(A) A⁻ᵀ from the
// same factors, 2 n³; where the pivots say that A is near to singular they come from its singular values.
#include <limits>

#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

bool odd_exchanges(const int* pivots, int64_t n) {
  bool odd = false;
  for (int64_t i = 0; i < n; i++) odd ^= pivots[i] != i + 1;
  return odd;
}

template <class T>
T product_of_pivots(const T* lu, const int* pivots, int64_t n) {
  T result(odd_exchanges(pivots, n) ? -1 : 1);
  for (int64_t i = 0; i < n; i++) result *= lu[i * (n + 1)];
  return result;
}

// body(i, lu, pivots) for every matrix; a factorisation that meets a zero pivot is whole all the same.
template <class T, class Body>
void for_each_factored(KernelContext& k, const ColumnMajor<T>& a, double flops, Body&& body) {
  auto [count, n, columns] = batch_of(k.in(0), k.op);
  for_each_matrix(count, flops, [&, n = n](int64_t i) {
    ScratchArray<int> pivots(n);
    if (n > 0) lu_factor(static_cast<int>(n), static_cast<int>(n), a.matrix(i), pivots.data());
    body(i, a.matrix(i), pivots.data());
  });
}

double cubed(const Operand& a) {
  auto n = static_cast<double>(a.size(-1));
  return n * n * n;
}

void det_kernel(KernelContext& k) {
  int64_t n = k.in(0).size(-1);
  dispatch_factorisation(k.in(0).dtype, k.op, [&]<class T>() {
    ColumnMajor<T> a(k.in(0));
    T* out = k.out().as<T>();
    for_each_factored<T>(k, a, cubed(k.in(0)), [&](int64_t i, const T* lu, const int* pivots) {
      out[i] = product_of_pivots(lu, pivots, n);
    });
  });
}

void slogdet_kernel(KernelContext& k) {
  int64_t n = k.in(0).size(-1);
  dispatch_factorisation(k.in(0).dtype, k.op, [&]<class T>() {
    ColumnMajor<T> a(k.in(0));
    T* signs = k.out(0).as<T>();
    auto* logs = k.out(1).as<real_part_t<T>>();
    for_each_factored<T>(k, a, cubed(k.in(0)), [&](int64_t i, const T* lu, const int* pivots) {
      T sign(odd_exchanges(pivots, n) ? -1 : 1);
      double log = 0;
      for (int64_t d = 0; d < n; d++) {
        auto size = std::abs(lu[d * (n + 1)]);
        sign = size == 0 ? T(0) : sign * (lu[d * (n + 1)] / size);
        log += std::log(static_cast<double>(size));
      }
      signs[i] = sign;
      logs[i] = static_cast<real_part_t<T>>(log);
    });
  });
}

// Whether the factors serve; NaN and infinity go through them too, as LAPACK's iterations need not end on
// these.
template <class T>
bool are_usable(const T* lu, int64_t n) {
  real_part_t<T> smallest = std::numeric_limits<real_part_t<T>>::infinity(), largest = 0;
  for (int64_t i = 0; i < n; i++) {
    real_part_t<T> size = std::abs(lu[i * (n + 1)]);
    if (!std::isfinite(size)) return true;
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  return smallest > largest * std::sqrt(std::numeric_limits<real_part_t<T>>::epsilon());
}

// det(a) of a matrix that may be overwritten.
template <class T>
T determinant(int64_t n, T* a) {
  ScratchArray<int> pivots(n);
  lu_factor(static_cast<int>(n), static_cast<int>(n), a, pivots.data());
  return product_of_pivots(a, pivots.data(), n);
}

// Transposed cofactors by singular values: V diag(Π of the other s) U^H, times det U · det Vh. `a` is
// overwritten by them, column by column.
template <class T>
bool adjugate_of_singular(int64_t n, T* a) {
  ScratchArray<T> u(n * n), vh(n * n), copy(n * n);
  ScratchArray<real_part_t<T>> s(n);
  auto size = static_cast<int>(n);
  if (singular_values('A', size, size, a, s.data(), u.data(), vh.data()) != 0) return false;
  std::copy_n(u.data(), n * n, copy.data());
  T phase = determinant(n, copy.data());
  std::copy_n(vh.data(), n * n, copy.data());
  phase *= determinant(n, copy.data());
  ScratchArray<T> others(n);
  for (int64_t i = 0; i < n; i++) {
    others[i] = phase;
    for (int64_t j = 0; j < n; j++) others[i] *= i == j ? real_part_t<T>(1) : s[j];
  }
  for (int64_t row = 0; row < n; row++)
    for (int64_t column = 0; column < n; column++) {
      T sum(0);
      for (int64_t i = 0; i < n; i++) {
        T left = vh[i + row * n], right = u[column + i * n];  // vh[i, row] and u[column, i], to be conjugated
        if constexpr (is_complex_type<T>) left = std::conj(left), right = std::conj(right);
        sum += left * others[i] * right;
      }
      a[row + column * n] = sum;
    }
  return true;
}

void cofactor_kernel(KernelContext& k) {
  int64_t n = k.in(0).size(-1);
  if (k.out().count() == 0) return;
  dispatch_factorisation(k.in(0).dtype, k.op, [&]<class T>() {
    ColumnMajor<T> a(k.in(0)), original(k.in(0));
    Failures failures(batch_of(k.in(0), k.op).count);
    T* out = k.out().as<T>();
    for_each_factored<T>(k, a, 3 * cubed(k.in(0)), [&](int64_t i, T* lu, const int* pivots) {
      T* adjugate = lu;
      if (are_usable(lu, n)) {
        T det = product_of_pivots(lu, pivots, n);
        lu_inverse(static_cast<int>(n), lu, pivots);
        for (int64_t j = 0; j < n * n; j++) lu[j] *= det;
      } else {
        adjugate = original.matrix(i);
        failures[i] = adjugate_of_singular(n, adjugate) ? 0 : 1;
      }
      std::copy_n(adjugate, n * n, out + i * n * n);  // columns of the adjugate are rows of the cofactors
    });
    failures.check([&](int64_t i, int) {
      TW_FAIL(kRuntime, k.op, ": the singular values of matrix ", i, " of the batch did not converge");
    });
  });
}

}  // namespace

void kernels_determinant(KernelTable& table) {
  table.add("linalg_det", det_kernel);
  table.add("linalg_slogdet", slogdet_kernel);
  table.add("linalg_cofactor", cofactor_kernel);
}

}  // namespace tw::ops
