// LAPACK's geev: reduction to Hessenberg form and QR iterations, about 10 n³ flops for the values, 25 n³ with
// vectors.
#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

template <bool kVectors>
void eig_kernel(KernelContext& k) {
  if (k.out(0).count() == 0) return;
  auto [count, n, columns] = batch_of(k.in(0), k.op);
  Failures failures(count);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, n = n]<class T>() {
    using Complex = std::complex<real_part_t<T>>;
    ColumnMajor<T> a(k.in(0));
    ColumnMajor<Complex> v(kVectors ? *k.in(0).sizes : Dims{0, 0});
    check_finite(a.matrix(0), k.in(0).count(), k.op);
    auto* values = k.out(0).as<Complex>();
    for_each_matrix(count, (kVectors ? 25.0 : 10.0) * static_cast<double>(n * n * n), [&](int64_t i) {
      failures[i] = general_eigen(kVectors, static_cast<int>(n), a.matrix(i), values + i * n, v.matrix(i));
    });
    if constexpr (kVectors) v.write_to(k.out(1));
  });
  failures.check([&](int64_t i, int) {
    TW_FAIL(kRuntime, k.op, ": the iteration did not converge for matrix ", i, " of the batch");
  });
}

}  // namespace

void kernels_eig(KernelTable& table) {
  table.add("linalg_eig", eig_kernel<true>);
  table.add("linalg_eigvals", eig_kernel<false>);
}

}  // namespace tw::ops
