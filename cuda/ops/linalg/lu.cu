// lu_factor, lu_solve, and permutations of pivots. A block factors a matrix, a warp solves for a column
// (factor.h has the bytes, the flops and the floor); a thread makes a permutation, of which it reads the
// pivots and writes the rows once.
//
// Per element: 8 n bytes and 2/3 n operations (lu_factor of n x n, float32).
#include "ops/linalg/lu.h"

#include "cuda/common/dense.h"
#include "cuda/ops/linalg/factor.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

void not_invertible(const char* op, int64_t pivot, int64_t matrix) {
  TW_FAIL(kRuntime, op, ": invertible matrices are wanted, pivot ", pivot, " of matrix ", matrix,
          " of the batch is zero");
}

void no_pivot(const char* op, int64_t pivot, int64_t rows) {
  TW_FAIL(kIndex, op, ": pivots from 1 to ", rows, " are wanted, got ", pivot);
}

namespace {

void lu_factor_kernel(KernelContext& k) {
  if (k.out(0).count() == 0) return clear_info(k.out(2), k.op);
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), *k.in(0).sizes, false, k.op);
    LuFactors<T> factors(a, k.out(1).as<int32_t>(), k.out(2).as<int32_t>(),
                         k.attrs<ops::LuAttrs>().check_errors, k.op);
    a.write_to(k.out(0), false, k.op);
  });
}

// `order`: a number for each row, which the exchanges move.
__global__ void __launch_bounds__(kFactorThreads)
    permutation_kernel(const int32_t* pivots, int64_t each, int64_t rows, int64_t count, int64_t* order,
                       int64_t* out, bool inverse, MistakeNote wrong) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (i >= count) return;
  int64_t* own = order + i * rows;
  for (int64_t j = 0; j < rows; j++) own[j] = j;
  for (int64_t j = 0; j < each; j++) {
    int64_t other = pivots[i * each + j] - 1;
    if (other < 0 || other >= rows) {
      wrong(other + 1, rows);
      continue;
    }
    int64_t kept = own[j];
    own[j] = own[other];
    own[other] = kept;
  }
  for (int64_t j = 0; j < rows; j++) {
    if (inverse)
      out[i * rows + own[j]] = j;
    else
      out[i * rows + j] = own[j];
  }
}

void permutation_of_pivots_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::PivotsAttrs>();
  if (k.out().count() == 0) return;
  Dense<int32_t> pivots(k.in(0), k.op);
  DeviceScratch order(static_cast<size_t>(k.out().count()) * sizeof(int64_t));
  int64_t count = k.out().count() / a.rows;
  launch(k.op, permutation_kernel, by_threads(count), static_cast<const int32_t*>(pivots.data()),
         k.in(0).size(-1), a.rows, count, order.as<int64_t>(), k.out().as<int64_t>(), a.inverse,
         mistake_note(k.op, no_pivot));
}

void lu_solve_kernel(KernelContext& k) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  int64_t n = out.size(-2);
  Dims lu_sizes = *out.sizes;
  lu_sizes.back() = n;
  Dims pivot_sizes(lu_sizes.begin(), lu_sizes.end() - 1), pivot_strides = contiguous_strides(pivot_sizes);
  DeviceScratch pivots(static_cast<size_t>(numel(pivot_sizes)) * sizeof(int32_t));
  copy_cast({pivots.as<void>(), &pivot_sizes, &pivot_strides, DType::kInt32}, k.in(1), k.op);
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    Matrices<T> lu(k.in(0), lu_sizes, false, k.op), columns(k.in(2), *out.sizes, true, k.op);
    solve_factored<T>(lu, pivots.as<int32_t>(), columns, k.attrs<ops::LuSolveAttrs>().adjoint, k.op);
    columns.write_to(out, true, k.op);
  });
}

}  // namespace

void kernels_lu(device::KernelTable& table) {
  table.add("linalg_lu_factor_ex", lu_factor_kernel);
  table.add("permutation_of_pivots", permutation_of_pivots_kernel);
  table.add("lu_solve_matrices", lu_solve_kernel);
}

}  // namespace tw::cuda
