// cholesky. A block factors a matrix where it lies in memory, from one of its triangles: n^3 / 3 flops, and
// the rest of the triangle read and written once a column. That serves batches of small matrices; of a large
// one it is what one processor reads. Floor: the flops at the device's rate, or the matrices' bytes.
//
// Per element: 4 n bytes and n / 3 operations (cholesky of n x n, float32).
#include "ops/linalg/cholesky.h"

#include "cuda/ops/linalg/factor.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

void not_positive(const char* op, int64_t order, int64_t matrix) {
  TW_FAIL(kRuntime, op, ": positive definite matrices are wanted, the leading minor of order ", order,
          " of matrix ", matrix, " of the batch is not positive");
}

template <class T>
TW_DEVICE real_t<T> real_of_element(T x) {
  if constexpr (is_device_complex<T>)
    return x.re;
  else
    return x;
}

// A = L L^H in place of the lower triangle; the other one becomes 0. info: the order of the first leading
// minor that is not positive, or 0.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    cholesky_kernel(T* matrices, int64_t n, int32_t* info, MistakeNote note, bool check) {
  T* a = matrices + blockIdx.x * n * n;
  int64_t failed = 0;
  for (int64_t j = 0; j < n && failed == 0; j++) {
    real_t<T> square = real_of_element(a[j * n + j]);
    __syncthreads();
    if (!(square > 0)) {
      failed = j + 1;
      continue;
    }
    T root = of_real<T>(std::sqrt(square));
    for (int64_t i = j + threadIdx.x; i < n; i += kFactorThreads)
      a[i * n + j] = i == j ? root : a[i * n + j] / root;
    __syncthreads();
    for (int64_t i = j + 1 + warp_index(); i < n; i += kFactorWarps)
      for (int64_t c = j + 1 + lane_index(); c <= i; c += kLanes)
        a[i * n + c] = a[i * n + c] - a[i * n + j] * conjugated(a[c * n + j]);
    __syncthreads();
  }
  for (int64_t i = warp_index(); i < n; i += kFactorWarps)
    for (int64_t c = i + 1 + lane_index(); c < n; c += kLanes) a[i * n + c] = T{};
  if (threadIdx.x != 0) return;
  info[blockIdx.x] = static_cast<int32_t>(failed);
  if (check && failed) note(failed, blockIdx.x);
}

void cholesky(KernelContext& k) {
  const auto& attrs = k.attrs<ops::CholeskyAttrs>();
  const Operand &out = k.out(0), &info = k.out(1);
  if (out.count() == 0) return clear_info(info, k.op);
  dispatch_factors(k.in(0).dtype, k.op, [&]<class T>() {
    auto factor = [&](const Matrices<T>& a) {
      launch(k.op, cholesky_kernel<T>, {static_cast<unsigned>(a.count), kFactorThreads}, a.data(), a.rows,
             info.as<int32_t>(), mistake_note(k.op, not_positive), attrs.check_errors);
    };
    Matrices<T> a(k.in(0), *out.sizes, false, k.op);
    if (!attrs.upper) {
      factor(a);
      return a.write_to(out, false, k.op);
    }
    Matrices<T> adjoint = adjoint_of(a, k.op);
    factor(adjoint);
    adjoint_of(adjoint, k.op).write_to(out, false, k.op);
  });
}

}  // namespace

void kernels_cholesky(device::KernelTable& table) { table.add("linalg_cholesky_ex", cholesky); }

}  // namespace tw::cuda
