#include "device/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <complex>

#include "base/error.h"
#include "device/cpu/amx_gemm.h"
#include "device/cpu/parallel.h"

namespace tw::device {

namespace {

// Flops that are worth handing to another thread, some 50 µs of work; and above the size up to which BLAS has
// kernels for small products, so that a product and its pieces are computed alike.
constexpr double kFlopsPerPiece = 4e6;
constexpr int64_t kIntMax = 0x7fffffff;  // BLAS counts in 32 bits

void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a,
               int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  scipy_cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha, const double* a,
               int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  scipy_cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, std::complex<float> alpha,
               const std::complex<float>* a, int lda, const std::complex<float>* b, int ldb,
               std::complex<float> beta, std::complex<float>* c, int ldc) {
  scipy_cblas_cgemm(CblasRowMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, std::complex<double> alpha,
               const std::complex<double>* a, int lda, const std::complex<double>* b, int ldb,
               std::complex<double> beta, std::complex<double>* c, int ldc) {
  scipy_cblas_zgemm(CblasRowMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

template <class T>
struct BlasOperand {
  CBLAS_TRANSPOSE transpose;
  int leading;
};

template <class T>
BlasOperand<T> blas_operand(const Matrix<T>& matrix, int64_t rows, int64_t columns) {
  bool by_rows = matrix.column_stride == 1 || columns == 1;
  if (by_rows && (matrix.row_stride >= columns || rows == 1))
    return {CblasNoTrans, static_cast<int>(std::max(rows == 1 ? columns : matrix.row_stride, int64_t{1}))};
  return {CblasTrans, static_cast<int>(std::max(columns == 1 ? rows : matrix.column_stride, int64_t{1}))};
}

void call_gemv(CBLAS_TRANSPOSE t, int rows, int columns, float alpha, const float* a, int lda, const float* x,
               int incx, float beta, float* y, int incy) {
  scipy_cblas_sgemv(CblasRowMajor, t, rows, columns, alpha, a, lda, x, incx, beta, y, incy);
}
void call_gemv(CBLAS_TRANSPOSE t, int rows, int columns, double alpha, const double* a, int lda,
               const double* x, int incx, double beta, double* y, int incy) {
  scipy_cblas_dgemv(CblasRowMajor, t, rows, columns, alpha, a, lda, x, incx, beta, y, incy);
}
void call_gemv(CBLAS_TRANSPOSE t, int rows, int columns, std::complex<float> alpha,
               const std::complex<float>* a, int lda, const std::complex<float>* x, int incx,
               std::complex<float> beta, std::complex<float>* y, int incy) {
  scipy_cblas_cgemv(CblasRowMajor, t, rows, columns, &alpha, a, lda, x, incx, &beta, y, incy);
}
void call_gemv(CBLAS_TRANSPOSE t, int rows, int columns, std::complex<double> alpha,
               const std::complex<double>* a, int lda, const std::complex<double>* x, int incx,
               std::complex<double> beta, std::complex<double>* y, int incy) {
  scipy_cblas_zgemv(CblasRowMajor, t, rows, columns, &alpha, a, lda, x, incx, &beta, y, incy);
}

// y[m] = alpha · a[m, k] x[k] + beta · y
template <class T>
void gemv(int m, int k, T alpha, Matrix<T> a, const T* x, int64_t x_stride, T beta, T* y, int64_t y_stride) {
  auto matrix = blas_operand(a, m, k);
  bool by_rows = matrix.transpose == CblasNoTrans;
  call_gemv(matrix.transpose, by_rows ? m : k, by_rows ? k : m, alpha, a.data, matrix.leading, x,
            k == 1 ? 1 : static_cast<int>(x_stride), beta, y, m == 1 ? 1 : static_cast<int>(y_stride));
}

std::atomic<bool> matrix_unit_allowed{false};

// Without products to add: c = beta · c.
template <class T>
void scale(int64_t m, int64_t n, T beta, T* c, int64_t c_stride) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) c[i * c_stride + j] = beta == T(0) ? T(0) : beta * c[i * c_stride + j];
}

}  // namespace

void allow_matrix_unit(bool allowed) { matrix_unit_allowed = allowed; }

// As many products as BLAS takes in one call; it counts in 32 bits.
template <class T>
void blas_gemm(int64_t rows, int64_t columns, int64_t inners, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c,
               int64_t c_stride) {
  static const bool single [[maybe_unused]] = (scipy_openblas_set_num_threads(1), true);
  int m = static_cast<int>(rows), n = static_cast<int>(columns), k = static_cast<int>(inners);
  if (n == 1) return gemv(m, k, alpha, a, b.data, b.row_stride, beta, c, c_stride);
  if (m == 1)
    return gemv(n, k, alpha, {b.data, b.column_stride, b.row_stride}, a.data, a.column_stride, beta, c, 1);
  auto left = blas_operand(a, m, k), right = blas_operand(b, k, n);
  call_blas(left.transpose, right.transpose, m, n, k, alpha, a.data, left.leading, b.data, right.leading,
            beta, c, static_cast<int>(c_stride));
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c,
          int64_t c_stride) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale(m, n, beta, c, c_stride);
  TW_CHECK(std::max({m, n, k, c_stride}) <= kIntMax, kValue, "matmul: sizes up to ", kIntMax,
           " are wanted, got ", m, ", ", n, " and ", k);
  if constexpr (std::is_same_v<T, float>)
    if (matrix_unit_allowed.load(std::memory_order_relaxed) && amx::pays(m, n, k))
      return amx::gemm(m, n, k, alpha, a, b, beta, c, c_stride);
  // Cut the longer side of the result. Pieces begin at multiples of 16, where BLAS kernels are whole, and the
  // last takes the rest: a shorter one would be computed by another kernel, and the sums would depend on the
  // cuts.
  bool by_rows = m >= n;
  int64_t length = by_rows ? m : n, units = std::max<int64_t>(1, length / 16);
  double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  // One large piece a thread: BLAS packs its operands once a call.
  int64_t pieces = std::clamp<int64_t>(static_cast<int64_t>(flops / kFlopsPerPiece), 1,
                                       std::min<int64_t>(units, num_threads()));
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    int64_t from = units * first / pieces * 16, to = last == pieces ? length : units * last / pieces * 16;
    if (by_rows) {
      blas_gemm<T>(to - from, n, k, alpha, {a.data + from * a.row_stride, a.row_stride, a.column_stride}, b,
                   beta, c + from * c_stride, c_stride);
    } else {
      blas_gemm<T>(m, to - from, k, alpha, a,
                   {b.data + from * b.column_stride, b.row_stride, b.column_stride}, beta, c + from,
                   c_stride);
    }
  });
}

template void gemm(int64_t, int64_t, int64_t, float, Matrix<float>, Matrix<float>, float, float*, int64_t);
template void gemm(int64_t, int64_t, int64_t, double, Matrix<double>, Matrix<double>, double, double*,
                   int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<float>, Matrix<std::complex<float>>,
                   Matrix<std::complex<float>>, std::complex<float>, std::complex<float>*, int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<double>, Matrix<std::complex<double>>,
                   Matrix<std::complex<double>>, std::complex<double>, std::complex<double>*, int64_t);

template void blas_gemm(int64_t, int64_t, int64_t, float, Matrix<float>, Matrix<float>, float, float*,
                        int64_t);

}  // namespace tw::device
