#include "device/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <string_view>

#include "base/error.h"
#include "device/cpu/amx_gemm.h"
#include "device/cpu/onednn_gemm.h"
#include "device/cpu/parallel.h"
#include "device/cpu/vector_gemm.h"

namespace tw::device {

namespace {

// Flops that are worth handing to another thread, some 50 µs of work; and above the size up to which BLAS has
// kernels for small products, so that a product and its pieces are computed alike.
constexpr double kFlopsPerPiece = 4e6;
constexpr double kFlopsPerTile = 6e8;  // of large products of floats, so that many threads have work
constexpr double kLarge = 3e8;         // flops from which BLAS takes products with a transposed left factor
constexpr double kLargeOfAvx2 = 1e8;   // the same without AVX-512, of all products
constexpr double kTransposedOfAvx2 = 2e7;
constexpr int64_t kLeastTile = 128, kWideTile = 256, kTileInners = 512, kBlasInners = 256;
constexpr int64_t kIntMax = 0x7fffffff;  // BLAS counts in 32 bits

double flops_of(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

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

// [0, length) in `count` parts that begin at multiples of 16, where kernels are whole.
struct Parts {
  int64_t length, count;
  int64_t begin(int64_t i) const { return i == count ? length : length / 16 * i / count * 16; }
};

struct Tiling {
  int64_t rows = 1, columns = 1;  // how many of each
};

// Halves tiles until there are `wanted`; by their rows, unless that made them much wider than high.
Tiling tiling_of(int64_t m, int64_t n, int64_t wanted) {
  Tiling t;
  while (2 * t.rows * t.columns <= wanted) {
    bool by_rows = 3 * (m / t.rows) >= 2 * (n / t.columns);
    int64_t half = (by_rows ? m / t.rows : n / t.columns) / 2;
    if (half < (t.rows * t.columns < 4 ? kLeastTile : kWideTile)) break;
    (by_rows ? t.rows : t.columns) *= 2;
  }
  return t;
}

// Tiles of the result are shared among threads; `multiply` computes one, as gemm() does. They depend on the
// sizes alone, since a library may compute a tile and a part of it by different kernels; and they are few,
// since it packs its factors once a call. The inner sums are cut into `slices`, each added to those before.
template <class T, class Multiply>
void tiled_gemm(int64_t m, int64_t n, int64_t k, int64_t slices, T alpha, Matrix<T> a, Matrix<T> b, T beta,
                T* c, int64_t c_stride, const Multiply& multiply) {
  double flops = flops_of(m, n, k);
  auto worth = [&](double each) { return std::max<int64_t>(1, static_cast<int64_t>(flops / each)); };
  Tiling tiling =
      tiling_of(m, n, std::min(worth(kFlopsPerPiece), std::max<int64_t>(4, worth(kFlopsPerTile))));
  Parts rows{m, tiling.rows}, columns{n, tiling.columns}, inners{k, slices};
  auto tile = [&](int64_t i) {
    int64_t row = rows.begin(i / columns.count), column = columns.begin(i % columns.count);
    int64_t row_end = rows.begin(i / columns.count + 1), column_end = columns.begin(i % columns.count + 1);
    for (int64_t j = 0; j < slices; j++) {
      int64_t inner = inners.begin(j);
      Matrix<T> left{a.data + row * a.row_stride + inner * a.column_stride, a.row_stride, a.column_stride};
      Matrix<T> right{b.data + inner * b.row_stride + column * b.column_stride, b.row_stride,
                      b.column_stride};
      multiply(row_end - row, column_end - column, inners.begin(j + 1) - inner, alpha, left, right,
               j == 0 ? beta : T(1), c + row * c_stride + column, c_stride);
    }
  };
  parallel_for(0, rows.count * columns.count, 1, [&](int64_t first, int64_t last) {
    OneThread one_thread;
    for (int64_t i = first; i < last; i++) tile(i);
  });
}

// The bias in every row of c, to which a product is added.
template <class T>
void fill_rows(int64_t m, int64_t n, const T* bias, T* c, int64_t c_stride) {
  parallel_for(0, m, std::max<int64_t>(1, (1 << 15) / n), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) std::copy_n(bias, n, c + i * c_stride);
  });
}

// Without products to add: c = beta · c.
template <class T>
void scale(int64_t m, int64_t n, T beta, T* c, int64_t c_stride) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) c[i * c_stride + j] = beta == T(0) ? T(0) : beta * c[i * c_stride + j];
}

}  // namespace

void allow_matrix_unit(bool allowed) { matrix_unit_allowed = allowed; }

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

namespace {

// Whether BLAS computes every 16 rows and columns that begin at a multiple of 16 alike, wherever a piece
// ends. Its kernels for AVX2 go on by 12 columns and cut rows by halves, so that sums depend on the pieces'
// sizes.
bool whole_at_16() {
  static const bool whole = [] {
    std::string_view core = scipy_openblas_get_corename();
    return core == "SkylakeX" || core == "Cooperlake" || core == "SapphireRapids";
  }();
  return whole;
}

// Where that is so: cuts the longer side of the result into one large piece a thread, since BLAS packs its
// operands once a call. The last takes the rest: a shorter one would be computed by another kernel. Of the
// inner sums each piece adds one slice after another.
void cut_gemm(int64_t m, int64_t n, int64_t k, int64_t slices, float alpha, Matrix<float> a, Matrix<float> b,
              float beta, float* c, int64_t c_stride) {
  bool by_rows = m >= n;
  int64_t length = by_rows ? m : n, units = std::max<int64_t>(1, length / 16);
  int64_t pieces = std::clamp<int64_t>(static_cast<int64_t>(flops_of(m, n, k) / kFlopsPerPiece), 1,
                                       std::min<int64_t>(units, num_threads()));
  Parts inners{k, slices};
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    int64_t from = units * first / pieces * 16, to = last == pieces ? length : units * last / pieces * 16;
    const float* left = a.data + (by_rows ? from * a.row_stride : 0);
    const float* right = b.data + (by_rows ? 0 : from * b.column_stride);
    for (int64_t j = 0; j < slices; j++) {
      int64_t inner = inners.begin(j);
      blas_gemm<float>(by_rows ? to - from : m, by_rows ? n : to - from, inners.begin(j + 1) - inner, alpha,
                       {left + inner * a.column_stride, a.row_stride, a.column_stride},
                       {right + inner * b.row_stride, b.row_stride, b.column_stride}, j == 0 ? beta : 1.0f,
                       c + from * (by_rows ? c_stride : 1), c_stride);
    }
  });
}

// Whether BLAS takes a product of floats, or oneDNN. Large products with a transposed left factor, gradients
// of weights, are faster in BLAS; so are all large ones without AVX-512, where oneDNN reads its left factor
// in place.
bool for_blas(int64_t m, int64_t n, int64_t k, const Matrix<float>& a) {
  if (m == 1 || n == 1) return true;
  if (std::min(m, n) < kLeastTile) return false;
  bool transposed = a.column_stride != 1 && k > 1;
  if (vector::has_avx512()) return transposed && flops_of(m, n, k) >= kLarge;
  return flops_of(m, n, k) >= (transposed ? kTransposedOfAvx2 : kLargeOfAvx2);
}

void float_gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
                float* c, int64_t c_stride) {
  // oneDNN's kernels slow down where the columns of a transposed factor are long, those of BLAS for AVX-512
  // where it reads long columns of the left one.
  auto slices_of = [k](int64_t inners) { return (k + inners - 1) / inners; };
  if (!for_blas(m, n, k, a))
    return tiled_gemm(m, n, k, slices_of(kTileInners), alpha, a, b, beta, c, c_stride, onednn_gemm);
  if (!whole_at_16()) return tiled_gemm(m, n, k, 1, alpha, a, b, beta, c, c_stride, blas_gemm<float>);
  cut_gemm(m, n, k, m == 1 || n == 1 ? 1 : slices_of(kBlasInners), alpha, a, b, beta, c, c_stride);
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c, int64_t c_stride,
          const T* bias) {
  if (m == 0 || n == 0) return;
  TW_CHECK(std::max({m, n, k, c_stride}) <= kIntMax, kValue, "matmul: sizes up to ", kIntMax,
           " are wanted, got ", m, ", ", n, " and ", k);
  if constexpr (std::is_same_v<T, float>)
    if (k > 0 && vector_gemm_pays(m, n, k, b))
      return vector_gemm({m, n, k, alpha, a, b, beta, c, c_stride, bias});
  if (bias) {
    fill_rows(m, n, bias, c, c_stride);
    beta = T(1);
  }
  if (k == 0) return scale(m, n, beta, c, c_stride);
  if constexpr (std::is_same_v<T, float>) {
    if (matrix_unit_allowed.load(std::memory_order_relaxed) && amx::pays(m, n, k))
      return amx::gemm(m, n, k, alpha, a, b, beta, c, c_stride);
    return float_gemm(m, n, k, alpha, a, b, beta, c, c_stride);
  } else {
    tiled_gemm(m, n, k, 1, alpha, a, b, beta, c, c_stride, blas_gemm<T>);
  }
}

template void gemm(int64_t, int64_t, int64_t, float, Matrix<float>, Matrix<float>, float, float*, int64_t,
                   const float*);
template void gemm(int64_t, int64_t, int64_t, double, Matrix<double>, Matrix<double>, double, double*,
                   int64_t, const double*);
template void gemm(int64_t, int64_t, int64_t, std::complex<float>, Matrix<std::complex<float>>,
                   Matrix<std::complex<float>>, std::complex<float>, std::complex<float>*, int64_t,
                   const std::complex<float>*);
template void gemm(int64_t, int64_t, int64_t, std::complex<double>, Matrix<std::complex<double>>,
                   Matrix<std::complex<double>>, std::complex<double>, std::complex<double>*, int64_t,
                   const std::complex<double>*);

template void blas_gemm(int64_t, int64_t, int64_t, float, Matrix<float>, Matrix<float>, float, float*,
                        int64_t);

}  // namespace tw::device
