// LAPACK's divide and conquer for symmetric and Hermitian matrices (syevd, heevd): 4/3 n³ flops for the
// values, about 9 n³ with vectors.
#include "ops/linalg/eigh.h"

#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

// The eigenvectors are left in `a`.
template <class T>
void eigen(KernelContext& k, const ColumnMajor<T>& a, bool vectors) {
  auto [count, n, columns] = batch_of(k.in(0), k.op);
  char uplo = k.attrs<EighAttrs>().UPLO == "U" || k.attrs<EighAttrs>().UPLO == "u" ? 'U' : 'L';
  check_finite(a.matrix(0), k.in(0).count(), k.op);
  auto* values = k.out(0).as<real_part_t<T>>();
  Failures failures(count);
  for_each_matrix(count, (vectors ? 9.0 : 2.0) * static_cast<double>(n * n * n), [&, n = n](int64_t i) {
    failures[i] = hermitian_eigen(vectors, uplo, static_cast<int>(n), a.matrix(i), values + i * n);
  });
  failures.check([&](int64_t i, int) {
    TW_FAIL(kRuntime, k.op, ": the iteration did not converge for matrix ", i, " of the batch");
  });
}

template <bool kVectors>
void eigh_kernel(KernelContext& k) {
  if (k.out(0).count() == 0) return;
  dispatch_factorisation(k.in(0).dtype, k.op, [&]<class T>() {
    ColumnMajor<T> a(k.in(0));
    eigen(k, a, kVectors);
    if constexpr (kVectors) a.write_to(k.out(1));
  });
}

}  // namespace

void kernels_eigh(KernelTable& table) {
  table.add("linalg_eigh", eigh_kernel<true>);
  table.add("linalg_eigvalsh", eigh_kernel<false>);
}

}  // namespace tw::ops
