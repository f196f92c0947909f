// qr: Householder's reflections, a block a matrix (reflect.h has the bytes, the flops and the floor).
//
// Per element: 8 n bytes and 4 n operations (qr of n x n, float32).
#include "ops/linalg/qr.h"

#include "cuda/ops/linalg/reflect.h"

namespace tw::cuda {

namespace {

void qr(device::KernelContext& k) {
  bool wants_q = k.attrs<ops::QrAttrs>().mode != "r";
  const device::Operand &q = k.out(0), &r = k.out(1);
  if ((!wants_q || q.count() == 0) && r.count() == 0) return;
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), *k.in(0).sizes, false, k.op);
    QrFactors<T> factors(a, k.op);
    if (wants_q && q.count()) factors.q(q.size(-1)).write_to(q, false, k.op);
    if (r.count()) factors.r(r.size(-2)).write_to(r, false, k.op);
  });
}

}  // namespace

void kernels_qr(device::KernelTable& table) { table.add("linalg_qr", qr); }

}  // namespace tw::cuda
