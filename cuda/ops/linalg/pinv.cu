// pinv_matrices: V diag(1 / s) U^H over the singular values above the tolerance. Jacobi's rotations and
// reflections, a block a matrix (jacobi.h has the bytes, the flops and the floor), and a product of 2 m n
// min(m, n) flops through cuBLASLt. Of matrices said to be Hermitian one triangle is read.
//
// Per element: 150 n bytes and 100 n operations (pinv of n x n, float32, 8 sweeps).
#include "ops/linalg/pinv.h"

#include "cuda/common/dense.h"
#include "cuda/common/product.h"
#include "cuda/ops/linalg/jacobi.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

template <class T>
__global__ void __launch_bounds__(kFactorThreads) mirror_kernel(T* a, int64_t n, int64_t elements) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  int64_t i = e / n % n, c = e % n;
  if (c > i) a[e] = conjugated(a[e - i * n - c + c * n + i]);
}

// Column c of v [rows, n] over s[c], or zeros.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    divide_columns_kernel(T* v, const real_t<T>* s, const real_t<T>* atol, const real_t<T>* rtol,
                          int64_t rows, int64_t n, int64_t elements) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  using R = real_t<T>;
  int64_t matrix = e / (rows * n);
  R own = s[matrix * n + e % n], relative = rtol[matrix] * s[matrix * n];
  R cutoff = atol[matrix] > relative ? atol[matrix] : relative;
  v[e] = own > cutoff ? v[e] * of_real<T>(1 / own) : T{};
}

// The tolerance of each matrix.
template <class R>
class Tolerances {
 public:
  Tolerances(const Operand& given, const Operand& a, const char* op)
      : batch_(a.sizes->begin(), a.sizes->end() - 2),
        strides_(contiguous_strides(batch_)),
        memory_(static_cast<size_t>(numel(batch_)) * sizeof(R)) {
    copy_cast({memory_.as<void>(), &batch_, &strides_, dtype_of<R>}, given, op);
  }
  const R* data() const { return memory_.template as<const R>(); }

 private:
  Dims batch_, strides_;
  DeviceScratch memory_;
};

void pinv(KernelContext& k) {
  const Operand &in = k.in(0), &out = k.out();
  if (out.count() == 0) return;
  dispatch_factors(in.dtype, k.op, [&]<class T>() {
    using R = real_t<T>;
    Tolerances<R> atol(k.in(1), in, k.op), rtol(k.in(2), in, k.op);
    Matrices<T> a(in, *in.sizes, false, k.op);
    if (k.attrs<ops::PinvAttrs>().hermitian)
      launch(k.op, mirror_kernel<T>, by_threads(in.count()), a.data(), a.rows, in.count());
    bool wide = a.rows < a.columns;
    // Columns as rows of memory: of the adjoint where that has more rows.
    Dims sizes{a.count, a.rows, a.columns}, strides = contiguous_strides(sizes);
    Operand whole{a.data(), &sizes, &strides, in.dtype};
    Matrices<T> w(whole, sizes, !wide, k.op);
    if constexpr (is_device_complex<T>)
      if (wide) launch(k.op, conjugate_kernel<T>, by_threads(in.count()), w.data(), in.count());
    Jacobi<T> jacobi(w, true, k.op);
    int64_t n = w.rows, m = w.columns;
    Matrices<T> v = jacobi.v(), u = jacobi.u(n);  // [n, n] and [m, n]
    launch(k.op, divide_columns_kernel<T>, by_threads(a.count * n * n), v.data(), jacobi.values(),
           atol.data(), rtol.data(), n, n, a.count * n * n);
    launch(k.op, conjugate_kernel<T>, by_threads(a.count * m * n), wide ? v.data() : u.data(),
           wide ? a.count * n * n : a.count * m * n);
    // V diag(1 / s) U^H, or its adjoint U diag(1 / s) V^H.
    const Matrices<T>&left = wide ? u : v, &right = wide ? v : u;
    Dims left_sizes{a.count, left.rows, n}, right_sizes{a.count, n, right.rows};
    Dims left_strides = contiguous_strides(left_sizes), right_strides{right.rows * n, 1, n};
    Dims out_sizes{a.count, out.size(-2), out.size(-1)}, out_strides = contiguous_strides(out_sizes);
    matrix_product({out.data, &out_sizes, &out_strides, out.dtype},
                   {left.data(), &left_sizes, &left_strides, out.dtype},
                   {right.data(), &right_sizes, &right_strides, out.dtype}, k.op);
  });
}

}  // namespace

void kernels_pinv(device::KernelTable& table) { table.add("pinv_matrices", pinv); }

}  // namespace tw::cuda
