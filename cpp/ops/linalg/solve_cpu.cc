// LAPACK's getrf, getrs and getri, and BLAS's trsm, a matrix at a time: 2/3 n³ flops for the factors, 2 n²
// for each column solved, 4/3 n³ for an inverse.
#include "ops/linalg/solve.h"

#include <limits>

#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

Dims matrix_sizes(const Operand& like, int64_t rows, int64_t columns) {
  Dims sizes = *like.sizes;
  sizes[sizes.size() - 2] = rows;
  sizes[sizes.size() - 1] = columns;
  return sizes;
}

void report_singular(KernelContext& k, const Failures& failures, bool check) {
  failures.write_to(k.out(1));
  if (!check) return;
  failures.check([&](int64_t i, int pivot) {
    TW_FAIL(kRuntime, k.op, ": invertible matrices are wanted, pivot ", pivot, " of matrix ", i,
            " of the batch is zero");
  });
}

void solve_kernel(KernelContext& k) {
  auto [count, n, columns] = batch_of(k.out(), k.op);
  Failures failures(count);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, n = n, columns = columns]<class T>() {
    ColumnMajor<T> a(k.in(0), matrix_sizes(k.out(), n, n)), b(k.in(1), *k.out().sizes);
    double flops = static_cast<double>(n * n) * static_cast<double>(n + 2 * columns);
    for_each_matrix(n == 0 ? 0 : count, flops, [&](int64_t i) {
      ScratchArray<int> pivots(n);
      auto rows = static_cast<int>(n);
      failures[i] = lu_factor(rows, rows, a.matrix(i), pivots.data());
      if (columns > 0)
        lu_solve('N', rows, static_cast<int>(columns), a.matrix(i), pivots.data(), b.matrix(i));
    });
    b.write_to(k.out());
  });
  report_singular(k, failures, k.attrs<CheckErrorsAttrs>().check_errors);
}

void inv_kernel(KernelContext& k) {
  auto [count, n, columns] = batch_of(k.in(0), k.op);
  Failures failures(count);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, n = n]<class T>() {
    ColumnMajor<T> a(k.in(0));
    for_each_matrix(n == 0 ? 0 : count, 2.0 * static_cast<double>(n * n * n), [&](int64_t i) {
      ScratchArray<int> pivots(n);
      auto rows = static_cast<int>(n);
      failures[i] = lu_factor(rows, rows, a.matrix(i), pivots.data());
      if (failures[i] == 0)
        lu_inverse(rows, a.matrix(i), pivots.data());
      else
        std::fill_n(a.matrix(i), n * n, T(std::numeric_limits<real_part_t<T>>::quiet_NaN()));
    });
    a.write_to(k.out());
  });
  report_singular(k, failures, k.attrs<CheckErrorsAttrs>().check_errors);
}

// body(size, columns, a, b) for every system; b is solved in place.
template <class Body>
void for_each_triangle(KernelContext& k, Body&& body) {
  auto [count, n, columns] = batch_of(k.out(), k.op);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, n = n, columns = columns]<class T>() {
    ColumnMajor<T> a(k.in(0), matrix_sizes(k.out(), n, n)), b(k.in(1), *k.out().sizes);
    double flops = static_cast<double>(n * n * columns);
    for_each_matrix(n * columns == 0 ? 0 : count, flops, [&](int64_t i) {
      body(static_cast<int>(n), static_cast<int>(columns), a.matrix(i), b.matrix(i));
    });
    b.write_to(k.out());
  });
}

void triangular_kernel(KernelContext& k) {
  const auto& attrs = k.attrs<TriangularAttrs>();
  for_each_triangle(k, [&]<class T>(int n, int columns, const T* a, T* b) {
    triangular_solve('L', attrs.upper ? 'U' : 'L', 'N', attrs.unitriangular, n, columns, a, b);
  });
}

void factored_kernel(KernelContext& k) {
  bool upper = k.attrs<UpperAttrs>().upper;
  for_each_triangle(k, [&]<class T>(int n, int columns, const T* a, T* b) {
    triangular_solve('L', upper ? 'U' : 'L', upper ? 'C' : 'N', false, n, columns, a, b);
    triangular_solve('L', upper ? 'U' : 'L', upper ? 'N' : 'C', false, n, columns, a, b);
  });
}

}  // namespace

void kernels_solve(KernelTable& table) {
  table.add("solve_matrices", solve_kernel);
  table.add("linalg_inv_ex", inv_kernel);
  table.add("solve_triangular", triangular_kernel);
  table.add("solve_factored", factored_kernel);
}

}  // namespace tw::ops
