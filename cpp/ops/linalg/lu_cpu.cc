// LAPACK's getrf, about m n k flops, and getrs, 2 n² for each column.
#include "ops/linalg/lu.h"

#include <numeric>

#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

void lu_factor_kernel(KernelContext& k) {
  auto [count, m, n] = batch_of(k.in(0), k.op);
  int64_t small = std::min(m, n);
  Failures failures(count);
  auto* pivots = k.out(1).as<int32_t>();
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, m = m, n = n]<class T>() {
    ColumnMajor<T> a(k.in(0));
    for_each_matrix(small == 0 ? 0 : count, static_cast<double>(m * n * small), [&](int64_t i) {
      failures[i] = lu_factor(static_cast<int>(m), static_cast<int>(n), a.matrix(i), pivots + i * small);
    });
    a.write_to(k.out(0));
  });
  failures.write_to(k.out(2));
  if (!k.attrs<LuAttrs>().check_errors) return;
  failures.check([&](int64_t i, int pivot) {
    TW_FAIL(kRuntime, k.op, ": invertible matrices are wanted, pivot ", pivot, " of matrix ", i,
            " of the batch is zero");
  });
}

// They index memory: those that a user gives are looked at.
void check_pivots(const int32_t* pivots, int64_t count, int64_t rows, const char* op) {
  for (int64_t i = 0; i < count; i++)
    TW_CHECK(pivots[i] >= 1 && pivots[i] <= rows, kIndex, op, ": pivots from 1 to ", rows,
             " are wanted, got ", pivots[i]);
}

void permutation_kernel(KernelContext& k) {
  const auto& attrs = k.attrs<PivotsAttrs>();
  if (k.out().count() == 0) return;
  Dense<int32_t> pivots(k.in(0));
  int64_t each = k.in(0).size(-1);
  check_pivots(pivots.data(), k.in(0).count(), attrs.rows, k.op);
  auto* out = k.out().as<int64_t>();
  parallel_for(0, k.out().count() / attrs.rows, 256, [&](int64_t first, int64_t last) {
    std::vector<int64_t> rows(static_cast<size_t>(attrs.rows));
    for (int64_t i = first; i < last; i++) {
      std::iota(rows.begin(), rows.end(), 0);
      for (int64_t j = 0; j < each; j++) std::swap(rows[j], rows[pivots[i * each + j] - 1]);
      for (int64_t j = 0; j < attrs.rows; j++) {
        if (attrs.inverse)
          out[i * attrs.rows + rows[j]] = j;
        else
          out[i * attrs.rows + j] = rows[j];
      }
    }
  });
}

void lu_solve_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  auto [count, n, columns] = batch_of(k.out(), k.op);
  bool adjoint = k.attrs<LuSolveAttrs>().adjoint;
  Dims lu_sizes = *k.out().sizes;
  lu_sizes.back() = n;
  Dense<int32_t> pivots(k.in(1), Dims(lu_sizes.begin(), lu_sizes.end() - 1));
  check_pivots(pivots.data(), count * n, n, k.op);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, n = n, columns = columns]<class T>() {
    ColumnMajor<T> lu(k.in(0), lu_sizes), b(k.in(2), *k.out().sizes);
    for_each_matrix(count, 2.0 * static_cast<double>(n * n * columns), [&](int64_t i) {
      lu_solve(adjoint ? 'C' : 'N', static_cast<int>(n), static_cast<int>(columns), lu.matrix(i),
               pivots.data() + i * n, b.matrix(i));
    });
    b.write_to(k.out());
  });
}

}  // namespace

void kernels_lu(KernelTable& table) {
  table.add("linalg_lu_factor_ex", lu_factor_kernel);
  table.add("permutation_of_pivots", permutation_kernel);
  table.add("lu_solve_matrices", lu_solve_kernel);
}

}  // namespace tw::ops
