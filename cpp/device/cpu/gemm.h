// Matrix products through vendor libraries, cut into tiles that our own thread pool runs, each on one thread:
// those of float by oneDNN, all others and products with a vector by OpenBLAS. Of float, those of few rows
// with a transposed matrix are our own (vector_gemm.h), and others go to the matrix unit (amx_gemm.h) where
// that is allowed, there is one and it pays.
#pragma once

#include <cstdint>

namespace tw::device {

// A matrix in memory: element (i, j) at data[i * row_stride + j * column_stride]; one of the strides is 1 (or
// the size along it is).
template <class T>
struct Matrix {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;
};

// c[m, n] = alpha · a[m, k] b[k, n] + beta · c, c in rows of c_stride elements; with a bias [n], which beta =
// 0 goes with, + bias. T: float, double, or their complexes.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c, int64_t c_stride,
          const T* bias = nullptr);

// At first the matrix unit is not to be used.
void allow_matrix_unit(bool allowed);

// The same by one call of BLAS, on this thread.
template <class T>
void blas_gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c,
               int64_t c_stride);

}  // namespace tw::device
