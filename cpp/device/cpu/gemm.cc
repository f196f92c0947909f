#include "device/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <complex>

#include "device/cpu/parallel.h"

namespace tw::device {

namespace {

// Flops that are worth handing to another thread: some 20 µs of work.
constexpr double kFlopsPerPiece = 2e6;

void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a, int lda,
               const float* b, int ldb, float beta, float* c, int ldc) {
  scipy_cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha, const double* a, int lda,
               const double* b, int ldb, double beta, double* c, int ldc) {
  scipy_cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, std::complex<float> alpha,
               const std::complex<float>* a, int lda, const std::complex<float>* b, int ldb, std::complex<float> beta,
               std::complex<float>* c, int ldc) {
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

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c, int64_t c_stride) {
  if (m == 0 || n == 0) return;
  auto left = blas_operand(a, m, k), right = blas_operand(b, k, n);
  // Cut the longer side of the result; pieces end at multiples of 16, where BLAS kernels are whole.
  bool by_rows = m >= n;
  int64_t units = ((by_rows ? m : n) + 15) / 16;
  double flops_per_unit = 2.0 * static_cast<double>(m) * n * k / static_cast<double>(units);
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(kFlopsPerPiece / std::max(flops_per_unit, 1.0)));
  // One large piece a thread: BLAS packs its operands once a call.
  grain = std::max(grain, (units + num_threads() - 1) / num_threads());
  parallel_for(0, units, grain, [&](int64_t first, int64_t last) {
    int64_t from = first * 16, to = std::min(last * 16, by_rows ? m : n);
    const T* a_at = by_rows ? a.data + from * a.row_stride : a.data;
    const T* b_at = by_rows ? b.data : b.data + from * b.column_stride;
    T* c_at = by_rows ? c + from * c_stride : c + from;
    int rows = static_cast<int>(by_rows ? to - from : m), columns = static_cast<int>(by_rows ? n : to - from);
    call_blas(left.transpose, right.transpose, rows, columns, static_cast<int>(k), alpha, a_at, left.leading, b_at,
              right.leading, beta, c_at, static_cast<int>(c_stride));
  });
}

template void gemm(int64_t, int64_t, int64_t, float, Matrix<float>, Matrix<float>, float, float*, int64_t);
template void gemm(int64_t, int64_t, int64_t, double, Matrix<double>, Matrix<double>, double, double*, int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<float>, Matrix<std::complex<float>>,
                   Matrix<std::complex<float>>, std::complex<float>, std::complex<float>*, int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<double>, Matrix<std::complex<double>>,
                   Matrix<std::complex<double>>, std::complex<double>, std::complex<double>*, int64_t);

}  // namespace tw::device
