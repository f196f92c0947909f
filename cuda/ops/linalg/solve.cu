// solve, inverses, triangular solves and those with Cholesky's factor. A block factors a matrix, a warp
// solves for a column: factor.h has the bytes, the flops and the floor.
//
// Per element: 4 n bytes and 2 n operations (a solution by triangles of n x n, float32).
#include "ops/linalg/solve.h"

#include "cuda/ops/linalg/factor.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

Dims square_sizes(const Operand& like) {
  Dims sizes = *like.sizes;
  sizes.back() = like.size(-2);
  return sizes;
}

void solve_kernel(KernelContext& k) {
  const Operand& out = k.out();
  if (out.size(-2) == 0 || k.out(1).count() == 0) return clear_info(k.out(1), k.op);
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), square_sizes(out), false, k.op);
    LuFactors<T> factors(a, nullptr, k.out(1).as<int32_t>(), k.attrs<ops::CheckErrorsAttrs>().check_errors,
                         k.op);
    if (out.count() == 0) return;
    Matrices<T> columns(k.in(1), *out.sizes, true, k.op);
    solve_factored<T>(a, factors.pivots, columns, false, k.op);
    columns.write_to(out, true, k.op);
  });
}

void inv_kernel(KernelContext& k) {
  const Operand& out = k.out();
  if (out.count() == 0) return clear_info(k.out(1), k.op);
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), *out.sizes, false, k.op), columns(a.count, a.rows, a.columns);
    LuFactors<T> factors(a, nullptr, k.out(1).as<int32_t>(), k.attrs<ops::CheckErrorsAttrs>().check_errors,
                         k.op);
    int64_t elements = out.count();
    launch(k.op, identity_kernel<T>, by_threads(elements), columns.data(), a.rows, elements,
           static_cast<const int32_t*>(factors.info));
    solve_factored<T>(a, factors.pivots, columns, false, k.op);
    columns.write_to(out, true, k.op);
  });
}

// solve(a, columns) of every system, in place.
template <class Solve>
void with_systems(KernelContext& k, const Solve& solve) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), square_sizes(out), false, k.op), columns(k.in(1), *out.sizes, true, k.op);
    solve(a, columns);
    columns.write_to(out, true, k.op);
  });
}

void triangular_solve_kernel(KernelContext& k) {
  const auto& attrs = k.attrs<ops::TriangularAttrs>();
  with_systems(k, [&]<class T>(const Matrices<T>& a, const Matrices<T>& columns) {
    solve_triangles<T>(a.data(), columns, {attrs.upper, attrs.unitriangular}, k.op);
  });
}

// L L^H x = b, or U^H U x = b.
void factored_kernel(KernelContext& k) {
  bool upper = k.attrs<ops::UpperAttrs>().upper;
  with_systems(k, [&]<class T>(const Matrices<T>& a, const Matrices<T>& columns) {
    Matrices<T> adjoint = adjoint_of(a, k.op);
    solve_triangles<T>(upper ? adjoint.data() : a.data(), columns, {false, false}, k.op);
    solve_triangles<T>(upper ? a.data() : adjoint.data(), columns, {true, false}, k.op);
  });
}

}  // namespace

void kernels_solve(device::KernelTable& table) {
  table.add("solve_matrices", solve_kernel);
  table.add("linalg_inv_ex", inv_kernel);
  table.add("solve_triangular", triangular_solve_kernel);
  table.add("solve_factored", factored_kernel);
}

}  // namespace tw::cuda
