// Factorisations of dense matrices by LAPACK, which OpenBLAS brings; each call runs on one thread.
//
// Matrices lie column by column: element (i, j) at a[i + j * rows]. T: float, double, or their complexes.
// What a routine returns is LAPACK's info: 0, or where it failed (counted from 1).
#pragma once

#include <algorithm>
#include <complex>

#include "base/dtype.h"
#include "device/cpu/cast.h"
#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"

namespace tw::device {

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};
template <class T>
using real_part_t = typename RealPart<T>::type;

// a[m, n] = u diag(s) vh, s descending; `a` is overwritten. vectors: 'N' none, 'S' u[m, k] and vh[k, n], 'A'
// u[m, m] and vh[n, n], where k = min(m, n) > 0.
template <class T>
int singular_values(char vectors, int m, int n, T* a, real_part_t<T>* s, T* u, T* vh);

// a[m, n] = P L U, the unit lower L and the upper U in place of a; row i was exchanged with pivots[i] - 1.
template <class T>
int lu_factor(int m, int n, T* a, int* pivots);
// Solves op(A) x = b[n, count] in place of b, from the factors of A; transpose 'N', 'T' or 'C'.
template <class T>
void lu_solve(char transpose, int n, int count, const T* lu, const int* pivots, T* b);
// The inverse in place of the factors.
template <class T>
int lu_inverse(int n, T* lu, const int* pivots);

// a = L L^H (uplo 'L') or U^H U ('U') in that triangle of a; the other is left as it is.
template <class T>
int cholesky_factor(char uplo, int n, T* a);

// Solves op(A) x = b[rows, columns] (side 'L') or x op(A) = b ('R') in place of b; A is triangular, unit:
// with ones on its diagonal that are not read.
template <class T>
void triangular_solve(char side, char uplo, char transpose, bool unit, int rows, int columns, const T* a,
                      T* b);

// a[m, n] = Q R: R in the upper triangle, Q as k = min(m, n) reflectors below it and in tau.
template <class T>
int qr_factor(int m, int n, T* a, T* tau);
// The first n columns of the Q that k reflectors in a[m, k] stand for, in place of a[m, n].
template <class T>
int qr_form(int m, int n, int k, T* a, const T* tau);

// a = Q diag(w) Q^H of a Hermitian matrix whose triangle uplo is read; w ascends, Q in place of a when
// vectors.
template <class T>
int hermitian_eigen(bool vectors, char uplo, int n, T* a, real_part_t<T>* w);

// a v = v diag(w): eigenvalues, and eigenvectors of norm 1 as the columns of v[n, n] when `vectors` (else v
// is not touched). `a` is overwritten.
template <class T>
int general_eigen(bool vectors, int n, T* a, std::complex<real_part_t<T>>* w,
                  std::complex<real_part_t<T>>* v);

// A batch of matrices in scratch memory, each column by column.
template <class T>
class ColumnMajor {
 public:
  explicit ColumnMajor(const Dims& sizes)
      : sizes_(sizes), strides_(contiguous_strides(sizes)), memory_(numel(sizes)) {
    size_t rank = sizes.size();
    strides_[rank - 2] = 1;
    strides_[rank - 1] = std::max<int64_t>(sizes[rank - 2], 1);
  }
  // A copy of `o`, broadcast to `sizes`.
  ColumnMajor(const Operand& o, const Dims& sizes) : ColumnMajor(sizes) {
    if (numel(sizes) > 0) copy_cast(operand(), o);
  }
  explicit ColumnMajor(const Operand& o) : ColumnMajor(o, *o.sizes) {}

  int64_t rows() const { return sizes_[sizes_.size() - 2]; }
  int64_t columns() const { return sizes_[sizes_.size() - 1]; }
  T* matrix(int64_t i) const { return memory_.data() + i * rows() * columns(); }
  void write_to(const Operand& out) const {
    if (numel(sizes_) > 0) copy_cast(out, operand());
  }

 private:
  Operand operand() const { return {memory_.data(), &sizes_, &strides_, dtype_of<T>}; }

  Dims sizes_, strides_;
  ScratchArray<T> memory_;
};

// LAPACK counts in 32 bits, its workspaces included.
inline constexpr int64_t kMaxMatrixSize = 20000;

// Calls body(i) for each of `count` matrices, several at a time where each is some `flops` of work.
template <class Body>
void for_each_matrix(int64_t count, double flops, Body&& body) {
  auto grain = static_cast<int64_t>(std::clamp(1e5 / std::max(flops, 1.0), 1.0, 1e5));
  parallel_for(0, count, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) body(i);
  });
}

}  // namespace tw::device
