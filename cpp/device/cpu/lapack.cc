#include "device/cpu/lapack.h"

#include <cblas.h>

#include <complex>

#include "base/error.h"

namespace tw::device {

namespace {

using c32 = std::complex<float>;
using c64 = std::complex<double>;

// Fortran's calling convention: every argument by address, and a length behind for each character.
#define TW_LAPACK_COMMON(P, T)                                                                           \
  void scipy_##P##getrf_(const int*, const int*, T*, const int*, int*, int*);                            \
  void scipy_##P##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*,      \
                         const int*, int*, size_t);                                                      \
  void scipy_##P##getri_(const int*, T*, const int*, const int*, T*, const int*, int*);                  \
  void scipy_##P##potrf_(const char*, const int*, T*, const int*, int*, size_t);                         \
  void scipy_##P##trsm_(const char*, const char*, const char*, const char*, const int*, const int*,      \
                        const T*, const T*, const int*, T*, const int*, size_t, size_t, size_t, size_t); \
  void scipy_##P##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
#define TW_LAPACK_REAL(P, T)                                                                             \
  TW_LAPACK_COMMON(P, T)                                                                                 \
  void scipy_##P##orgqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*,   \
                         int*);                                                                          \
  void scipy_##P##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*,    \
                         const int*, T*, const int*, int*, int*, size_t);                                \
  void scipy_##P##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, \
                         const int*, int*, size_t, size_t);
#define TW_LAPACK_COMPLEX(P, T, R)                                                                     \
  TW_LAPACK_COMMON(P, T)                                                                               \
  void scipy_##P##ungqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, \
                         int*);                                                                        \
  void scipy_##P##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*,  \
                         const int*, T*, const int*, R*, int*, int*, size_t);                          \
  void scipy_##P##heevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*, \
                         const int*, int*, const int*, int*, size_t, size_t);
#define TW_LAPACK_EIGEN_REAL(P, T)                                                                        \
  void scipy_##P##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*, \
                        const int*, T*, const int*, int*, size_t, size_t);
#define TW_LAPACK_EIGEN_COMPLEX(P, T, R)                                                              \
  void scipy_##P##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*, \
                        const int*, T*, const int*, R*, int*, size_t, size_t);
extern "C" {
TW_LAPACK_REAL(s, float)
TW_LAPACK_REAL(d, double)
TW_LAPACK_COMPLEX(c, c32, float)
TW_LAPACK_COMPLEX(z, c64, double)
TW_LAPACK_EIGEN_REAL(s, float)
TW_LAPACK_EIGEN_REAL(d, double)
TW_LAPACK_EIGEN_COMPLEX(c, c32, float)
TW_LAPACK_EIGEN_COMPLEX(z, c64, double)
}

// The routine NAME for T, of the four that differ in their first letter.
#define TW_PICK(T, NAME)                          \
  [] {                                            \
    if constexpr (std::is_same_v<T, float>)       \
      return scipy_s##NAME##_;                    \
    else if constexpr (std::is_same_v<T, double>) \
      return scipy_d##NAME##_;                    \
    else if constexpr (std::is_same_v<T, c32>)    \
      return scipy_c##NAME##_;                    \
    else                                          \
      return scipy_z##NAME##_;                    \
  }()

void one_thread() { static const bool single [[maybe_unused]] = (scipy_openblas_set_num_threads(1), true); }

int at_least_1(int n) { return std::max(n, 1); }

// Asks a routine for the size of its workspace (in elements of T), then calls it with one.
template <class T, class Routine>
int with_workspace(Routine routine) {
  one_thread();
  T size(0);
  int info = routine(&size, -1);
  if (info != 0) return info;
  double wanted = static_cast<double>(std::real(size));
  TW_CHECK(wanted >= 0 && wanted < 2147483647.0, kValue, "linalg: a matrix is too large for LAPACK");
  int count = at_least_1(static_cast<int>(wanted));
  ScratchArray<T> work(count);
  return routine(work.data(), count);
}

// rwork of the complex gesdd, by its documentation.
int64_t singular_real_work(char vectors, int64_t m, int64_t n) {
  int64_t small = std::min(m, n), large = std::max(m, n);
  if (vectors == 'N') return 7 * small;
  return small * std::max(5 * small + 7, 2 * large + 2 * small + 1);
}

}  // namespace

template <class T>
int singular_values(char vectors, int m, int n, T* a, real_part_t<T>* s, T* u, T* vh) {
  int k = std::min(m, n), vh_rows = vectors == 'A' ? n : k, info = 0;
  ScratchArray<int> integers(8 * static_cast<int64_t>(k));
  ScratchArray<real_part_t<T>> reals(is_complex_type<T> ? singular_real_work(vectors, m, n) : 0);
  return with_workspace<T>([&](T* work, int size) {
    if constexpr (is_complex_type<T>)
      TW_PICK(T, gesdd)(&vectors, &m, &n, a, &m, s, u, &m, vh, &vh_rows, work, &size, reals.data(),
                        integers.data(), &info, 1);
    else
      TW_PICK(T, gesdd)(&vectors, &m, &n, a, &m, s, u, &m, vh, &vh_rows, work, &size, integers.data(), &info,
                        1);
    return info;
  });
}

template <class T>
int lu_factor(int m, int n, T* a, int* pivots) {
  one_thread();
  int info = 0, leading = at_least_1(m);
  TW_PICK(T, getrf)(&m, &n, a, &leading, pivots, &info);
  return info;
}

template <class T>
void lu_solve(char transpose, int n, int count, const T* lu, const int* pivots, T* b) {
  one_thread();
  int info = 0, leading = at_least_1(n);
  TW_PICK(T, getrs)(&transpose, &n, &count, lu, &leading, pivots, b, &leading, &info, 1);
}

template <class T>
int lu_inverse(int n, T* lu, const int* pivots) {
  int info = 0, leading = at_least_1(n);
  return with_workspace<T>([&](T* work, int size) {
    TW_PICK(T, getri)(&n, lu, &leading, pivots, work, &size, &info);
    return info;
  });
}

template <class T>
int cholesky_factor(char uplo, int n, T* a) {
  one_thread();
  int info = 0, leading = at_least_1(n);
  TW_PICK(T, potrf)(&uplo, &n, a, &leading, &info, 1);
  return info;
}

template <class T>
void triangular_solve(char side, char uplo, char transpose, bool unit, int rows, int columns, const T* a,
                      T* b) {
  one_thread();
  const T one(1);
  char diagonal = unit ? 'U' : 'N';
  int leading_a = at_least_1(side == 'L' ? rows : columns), leading_b = at_least_1(rows);
  TW_PICK(T, trsm)(&side, &uplo, &transpose, &diagonal, &rows, &columns, &one, a, &leading_a, b, &leading_b,
                   1, 1, 1, 1);
}

template <class T>
int qr_factor(int m, int n, T* a, T* tau) {
  int info = 0, leading = at_least_1(m);
  return with_workspace<T>([&](T* work, int size) {
    TW_PICK(T, geqrf)(&m, &n, a, &leading, tau, work, &size, &info);
    return info;
  });
}

template <class T>
int qr_form(int m, int n, int k, T* a, const T* tau) {
  int info = 0, leading = at_least_1(m);
  return with_workspace<T>([&](T* work, int size) {
    if constexpr (std::is_same_v<T, float>)
      scipy_sorgqr_(&m, &n, &k, a, &leading, tau, work, &size, &info);
    else if constexpr (std::is_same_v<T, double>)
      scipy_dorgqr_(&m, &n, &k, a, &leading, tau, work, &size, &info);
    else if constexpr (std::is_same_v<T, c32>)
      scipy_cungqr_(&m, &n, &k, a, &leading, tau, work, &size, &info);
    else
      scipy_zungqr_(&m, &n, &k, a, &leading, tau, work, &size, &info);
    return info;
  });
}

template <class T>
int hermitian_eigen(bool vectors, char uplo, int n, T* a, real_part_t<T>* w) {
  char job = vectors ? 'V' : 'N';
  int info = 0, leading = at_least_1(n), integer_size = vectors ? 3 + 5 * n : 1;
  ScratchArray<int> integers(integer_size);
  int real_size = vectors ? 1 + 5 * n + 2 * n * n : at_least_1(n);
  ScratchArray<real_part_t<T>> reals(is_complex_type<T> ? real_size : 0);
  return with_workspace<T>([&](T* work, int size) {
    if constexpr (std::is_same_v<T, float>)
      scipy_ssyevd_(&job, &uplo, &n, a, &leading, w, work, &size, integers.data(), &integer_size, &info, 1,
                    1);
    else if constexpr (std::is_same_v<T, double>)
      scipy_dsyevd_(&job, &uplo, &n, a, &leading, w, work, &size, integers.data(), &integer_size, &info, 1,
                    1);
    else if constexpr (std::is_same_v<T, c32>)
      scipy_cheevd_(&job, &uplo, &n, a, &leading, w, work, &size, reals.data(), &real_size, integers.data(),
                    &integer_size, &info, 1, 1);
    else
      scipy_zheevd_(&job, &uplo, &n, a, &leading, w, work, &size, reals.data(), &real_size, integers.data(),
                    &integer_size, &info, 1, 1);
    return info;
  });
}

namespace {

// geev gives a conjugate pair of eigenvectors of a real matrix as two columns: the real and the imaginary
// part of the first.
template <class R>
void unpack_pairs(int n, const R* imaginary, const R* packed, std::complex<R>* v) {
  for (int column = 0; column < n; column++) {
    bool pair = imaginary[column] != 0 && column + 1 < n;
    const R *re = packed + static_cast<int64_t>(column) * n, *im = re + n;
    std::complex<R>*out = v + static_cast<int64_t>(column) * n, *next = out + n;
    for (int row = 0; row < n; row++) {
      out[row] = {re[row], pair ? im[row] : 0};
      if (pair) next[row] = std::conj(out[row]);
    }
    column += pair;
  }
}

}  // namespace

template <class T>
int general_eigen(bool vectors, int n, T* a, std::complex<real_part_t<T>>* w,
                  std::complex<real_part_t<T>>* v) {
  const char none = 'N', right = vectors ? 'V' : 'N';
  int info = 0;
  T unused[1];
  if constexpr (is_complex_type<T>) {
    ScratchArray<real_part_t<T>> reals(2 * static_cast<int64_t>(n));
    return with_workspace<T>([&](T* work, int size) {
      TW_PICK(T, geev)(&none, &right, &n, a, &n, w, unused, &n, vectors ? v : unused, &n, work, &size,
                       reals.data(), &info, 1, 1);
      return info;
    });
  } else {
    ScratchArray<T> parts(2 * static_cast<int64_t>(n)), packed(vectors ? static_cast<int64_t>(n) * n : 1);
    T *re = parts.data(), *im = re + n;
    info = with_workspace<T>([&](T* work, int size) {
      TW_PICK(T, geev)(&none, &right, &n, a, &n, re, im, unused, &n, packed.data(), &n, work, &size, &info, 1,
                       1);
      return info;
    });
    for (int i = 0; i < n; i++) w[i] = {re[i], im[i]};
    if (vectors && info == 0) unpack_pairs(n, im, packed.data(), v);
    return info;
  }
}

#define TW_INSTANTIATE(T)                                                         \
  template int singular_values(char, int, int, T*, real_part_t<T>*, T*, T*);      \
  template int lu_factor(int, int, T*, int*);                                     \
  template void lu_solve(char, int, int, const T*, const int*, T*);               \
  template int lu_inverse(int, T*, const int*);                                   \
  template int cholesky_factor(char, int, T*);                                    \
  template void triangular_solve(char, char, char, bool, int, int, const T*, T*); \
  template int qr_factor(int, int, T*, T*);                                       \
  template int qr_form(int, int, int, T*, const T*);                              \
  template int hermitian_eigen(bool, char, int, T*, real_part_t<T>*);             \
  template int general_eigen(bool, int, T*, std::complex<real_part_t<T>>*, std::complex<real_part_t<T>>*);
TW_INSTANTIATE(float)
TW_INSTANTIATE(double)
TW_INSTANTIATE(c32)
TW_INSTANTIATE(c64)

}  // namespace tw::device
