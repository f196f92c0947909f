// LAPACK's divide and conquer (gesdd), a matrix at a time. Its 4 (values) to 22 (vectors) m n min(m, n) flops
// are the floor; the copies into and out of its column order are small beside them.
#include "device/cpu/lapack.h"
#include "ops/linalg/factor_cpu.h"
#include "ops/linalg/svd.h"

namespace tw::ops {

using namespace device;

namespace {

// What a factor of no singular values is: U and Vh are any orthogonal matrices, here identities.
template <class T>
void fill_identity(const ColumnMajor<T>& matrices, int64_t batch) {
  int64_t n = matrices.rows();
  std::fill_n(matrices.matrix(0), batch * n * matrices.columns(), T(0));
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < n; i++) matrices.matrix(b)[i * (n + 1)] = T(1);
}

template <class T>
void decompose(KernelContext& k, char vectors, int values, const ColumnMajor<T>* u,
               const ColumnMajor<T>* vh) {
  auto [batch, m, n] = batch_of(k.in(0), k.op);
  int64_t small = std::min(m, n);
  ColumnMajor<T> a(k.in(0));
  check_finite(a.matrix(0), k.in(0).count(), k.op);
  auto* s = k.out(values).template as<real_part_t<T>>();
  Failures failures(batch);
  double flops = (vectors == 'N' ? 4.0 : 22.0) * static_cast<double>(m * n * small);
  for_each_matrix(batch, flops, [&, m = m, n = n](int64_t i) {
    T none[1];
    failures[i] = singular_values(vectors, static_cast<int>(m), static_cast<int>(n), a.matrix(i),
                                  s + i * small, u ? u->matrix(i) : none, vh ? vh->matrix(i) : none);
  });
  failures.check([&](int64_t i, int) {
    TW_FAIL(kRuntime, k.op, ": the iteration did not converge for matrix ", i, " of the batch");
  });
}

void svd_kernel(KernelContext& k) {
  bool full = k.attrs<SvdAttrs>().full_matrices;
  dispatch_factorisation(k.in(0).dtype, k.op, [&]<class T>() {
    ColumnMajor<T> u(*k.out(0).sizes), vh(*k.out(2).sizes);
    if (k.out(1).count() > 0) {
      decompose<T>(k, full ? 'A' : 'S', 1, &u, &vh);
    } else {
      if (k.out(0).count() > 0) fill_identity(u, k.out(0).count() / (u.rows() * u.columns()));
      if (k.out(2).count() > 0) fill_identity(vh, k.out(2).count() / (vh.rows() * vh.columns()));
    }
    u.write_to(k.out(0));
    vh.write_to(k.out(2));
  });
}

void svdvals_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  dispatch_factorisation(k.in(0).dtype, k.op, [&]<class T>() { decompose<T>(k, 'N', 0, nullptr, nullptr); });
}

}  // namespace

void kernels_svd(KernelTable& table) {
  table.add("linalg_svd", svd_kernel);
  table.add("linalg_svdvals", svdvals_kernel);
}

}  // namespace tw::ops
