// matrix_exp: scaling and squaring with the approximant of degree 13 (Higham, "The scaling and squaring
// method for the matrix exponential revisited", 2005). 7 products through cuBLASLt, one solution, and a
// product for each halving: some 30 n^3 flops, of which the solution's are a block's a matrix (factor.h). The
// host waits for the largest number of halvings of the batch. Floor: the flops at the device's rate.
//
// Per element: 40 n bytes and 30 n operations (matrix_exp of n x n, float32).
#include <cmath>
#include <limits>

#include "cuda/common/flag.h"
#include "cuda/common/product.h"
#include "cuda/ops/linalg/factor.h"
#include "ops/linalg/matrix_exp_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// A block a matrix: how often it has to be halved until the approximant is exact, and it so. `most`: the
// largest of the batch.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    halve_kernel(T* matrices, int64_t n, int32_t* halvings, int32_t* most) {
  T* a = matrices + blockIdx.x * n * n;
  double largest = largest_row_sum<double>(
      n, [=](int64_t i, int64_t c) { return static_cast<double>(exact_size(a[i * n + c])); });
  bool finite = std::isfinite(largest);
  int count = finite && largest > ops::kPadeLargestNorm
                  ? static_cast<int>(std::ceil(std::log2(largest / ops::kPadeLargestNorm)))
                  : 0;
  using R = real_t<T>;
  R factor = finite ? static_cast<R>(std::ldexp(1.0, -count)) : std::numeric_limits<R>::quiet_NaN();
  for (int64_t e = threadIdx.x; e < n * n; e += kFactorThreads) a[e] = a[e] * of_real<T>(factor);
  if (threadIdx.x != 0) return;
  halvings[blockIdx.x] = count;
  atomicMax(most, count);
}

// c[0] + c[2] a2 + c[4] a4 + c[6] a6, with what `onto` holds, or without (null).
struct Coefficients {
  double c[7];
};
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    combine_kernel(Coefficients c, const T* a2, const T* a4, const T* a6, const T* onto, T* out, int64_t n,
                   int64_t elements) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  using R = real_t<T>;
  auto times = [](double by, T x) { return of_real<T>(static_cast<R>(by)) * x; };
  T sum = times(c.c[2], a2[e]) + times(c.c[4], a4[e]) + times(c.c[6], a6[e]);
  if (e / n % n == e % n) sum = sum + of_real<T>(static_cast<R>(c.c[0]));
  out[e] = onto ? sum + onto[e] : sum;
}

// u and v become v + u, and (v - u) transposed.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    quotient_kernel(const T* u, const T* v, T* above, T* below, int64_t n, int64_t elements) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e >= elements) return;
  auto [matrix, i, c] = matrix_place(e, n, n);
  above[e] = v[e] + u[e];
  below[(matrix * n + c) * n + i] = v[e] - u[e];
}

// Matrices that are to be squared this often become their squares.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    take_squares_kernel(const T* squares, const int32_t* halvings, int32_t times, T* x, int64_t each,
                        int64_t elements) {
  int64_t e = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (e < elements && halvings[e / each] >= times) x[e] = squares[e];
}

template <class T>
class Exponential {
 public:
  Exponential(Matrices<T>& a, const char* op)
      : a_(a), n_(a.rows), elements_(a.count * a.rows * a.rows), sizes_{a.count, a.rows, a.rows}, op_(op) {}

  // Leaves exp(a) in a.
  void run() {
    DeviceScratch counts(static_cast<size_t>(a_.count + 1) * sizeof(int32_t));
    auto *halvings = counts.as<int32_t>(), *most = halvings + a_.count;
    check(cudaMemsetAsync(most, 0, sizeof(int32_t), current_stream()), op_);
    launch(op_, halve_kernel<T>, {static_cast<unsigned>(a_.count), kFactorThreads}, a_.data(), n_, halvings,
           most);
    approximate();
    Matrices<T> squares = like();
    int32_t times = read_one(static_cast<const int32_t*>(most));
    for (int32_t i = 1; i <= times; i++) {
      multiply(a_, a_, squares);
      launch(op_, take_squares_kernel<T>, by_threads(elements_), squares.data(), halvings, i, a_.data(),
             n_ * n_, elements_);
    }
  }

 private:
  // u = a (a6 (c13 a6 + c11 a4 + c9 a2) + c7 a6 + c5 a4 + c3 a2 + c1), v alike with the even coefficients;
  // then (v + u) (v - u)^-1, row by row.
  void approximate() {
    const double* c = ops::kPade;
    Matrices<T> a2 = like(), a4 = like(), a6 = like(), part = like(), high = like(), u = like();
    multiply(a_, a_, a2);
    multiply(a2, a2, a4);
    multiply(a2, a4, a6);
    auto combine = [&](Coefficients k, const T* onto) {
      launch(op_, combine_kernel<T>, by_threads(elements_), k, a2.data(), a4.data(), a6.data(), onto,
             part.data(), n_, elements_);
    };
    combine({0, 0, c[9], 0, c[11], 0, c[13]}, nullptr);
    multiply(a6, part, high);
    combine({c[1], 0, c[3], 0, c[5], 0, c[7]}, high.data());
    multiply(a_, part, u);
    combine({0, 0, c[8], 0, c[10], 0, c[12]}, nullptr);
    multiply(a6, part, high);
    combine({c[0], 0, c[2], 0, c[4], 0, c[6]}, high.data());
    launch(op_, quotient_kernel<T>, by_threads(elements_), u.data(), part.data(), a_.data(), a2.data(), n_,
           elements_);
    LuFactors<T> factors(a2, nullptr, nullptr, false, op_);
    solve_factored<T>(a2, factors.pivots, a_, false, op_);
  }

  Matrices<T> like() const { return Matrices<T>(a_.count, n_, n_); }
  void multiply(const Matrices<T>& a, const Matrices<T>& b, const Matrices<T>& out) const {
    Dims strides = contiguous_strides(sizes_);
    auto operand = [&](const Matrices<T>& x) { return Operand{x.data(), &sizes_, &strides, dtype_of<T>}; };
    matrix_product(operand(out), operand(a), operand(b), op_);
  }

  Matrices<T>& a_;
  int64_t n_, elements_;
  Dims sizes_;
  const char* op_;
};

// Half types are computed in float.
void matrix_exp(KernelContext& k) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  dispatch_factors(is_half(out.dtype) ? DType::kFloat32 : out.dtype, k.op, [&]<class T>() {
    Matrices<T> a(k.in(0), *out.sizes, false, k.op);
    Exponential<T>(a, k.op).run();
    a.write_to(out, false, k.op);
  });
}

}  // namespace

void kernels_matrix_exp(device::KernelTable& table) { table.add("matrix_exp", matrix_exp); }

}  // namespace tw::cuda
