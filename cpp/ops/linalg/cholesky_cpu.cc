// LAPACK's potrf, 1/3 n³ flops, in place of a copy of which one triangle is read.
#include "ops/linalg/cholesky.h"

#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

// Zeros in the triangle that the factor does not have.
template <class T>
void clear_other_triangle(T* a, int64_t n, bool upper) {
  for (int64_t column = 0; column < n; column++) {
    T* first = a + column * n;
    if (upper)
      std::fill(first + column + 1, first + n, T(0));
    else
      std::fill(first, first + column, T(0));
  }
}

void cholesky_kernel(KernelContext& k) {
  const auto& attrs = k.attrs<CholeskyAttrs>();
  auto [count, n, columns] = batch_of(k.in(0), k.op);
  Failures failures(count);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, n = n]<class T>() {
    ColumnMajor<T> a(k.in(0));
    for_each_matrix(n == 0 ? 0 : count, static_cast<double>(n * n * n) / 3, [&](int64_t i) {
      failures[i] = cholesky_factor(attrs.upper ? 'U' : 'L', static_cast<int>(n), a.matrix(i));
      clear_other_triangle(a.matrix(i), n, attrs.upper);
    });
    a.write_to(k.out());
  });
  failures.write_to(k.out(1));
  if (!attrs.check_errors) return;
  failures.check([&](int64_t i, int order) {
    TW_FAIL(kRuntime, k.op, ": positive definite matrices are wanted, the leading minor of order ", order,
            " of matrix ", i, " of the batch is not positive");
  });
}

}  // namespace

void kernels_cholesky(KernelTable& table) { table.add("linalg_cholesky_ex", cholesky_kernel); }

}  // namespace tw::ops
