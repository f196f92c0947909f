// LAPACK's geqrf, 2 m n k flops, and orgqr, as many again for Q.
#include "ops/linalg/qr.h"

#include "ops/linalg/factor_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

// The upper triangle of a [rows of `stride`], as the matrix r [rows, columns].
template <class T>
void copy_upper(const T* a, int64_t stride, T* r, int64_t rows, int64_t columns) {
  for (int64_t column = 0; column < columns; column++) {
    int64_t kept = std::min(column + 1, std::min(rows, stride));
    std::copy_n(a + column * stride, kept, r + column * rows);
    std::fill(r + column * rows + kept, r + (column + 1) * rows, T(0));
  }
}

void qr_kernel(KernelContext& k) {
  bool wants_q = k.attrs<QrAttrs>().mode != "r";
  auto [count, m, n] = batch_of(k.in(0), k.op);
  int64_t small = std::min(m, n), width = wants_q ? k.out(0).size(-1) : 0;
  double flops = 4.0 * static_cast<double>(m * n * small);
  dispatch_factorisation(k.in(0).dtype, k.op, [&, count = count, m = m, n = n]<class T>() {
    ColumnMajor<T> a(k.in(0)), r(*k.out(1).sizes);
    Dims q_sizes = *k.in(0).sizes;
    q_sizes.back() = width;
    ColumnMajor<T> q(q_sizes);
    for_each_matrix(m == 0 ? 0 : count, flops, [&](int64_t i) {
      ScratchArray<T> tau(std::max<int64_t>(small, 1));
      auto rows = static_cast<int>(m), columns = static_cast<int>(n);
      if (n > 0) qr_factor(rows, columns, a.matrix(i), tau.data());
      copy_upper(a.matrix(i), m, r.matrix(i), r.rows(), n);
      if (width == 0) return;
      std::copy_n(a.matrix(i), m * std::min(n, width), q.matrix(i));
      qr_form(rows, static_cast<int>(width), static_cast<int>(small), q.matrix(i), tau.data());
    });
    if (wants_q) q.write_to(k.out(0));
    r.write_to(k.out(1));
  });
}

}  // namespace

void kernels_qr(KernelTable& table) { table.add("linalg_qr", qr_kernel); }

}  // namespace tw::ops
