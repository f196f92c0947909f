// What the kernels of matrix factorisations share: row-major copies of a batch, LU factors, triangular
// solves.
//
// A block factors a matrix, where it lies in memory; a warp solves for a column. That serves batches of small
// matrices; a large one leaves most processors idle, and is bound by what one of them reads: a factorisation
// moves the matrix once a column, which is far from the floor of 2/3 n^3 flops at the device's rate.
#pragma once

#include <cmath>
#include <limits>
#include <memory>

#include "cuda/common/complex_warp.h"
#include "cuda/common/copy.h"
#include "cuda/common/launch.h"
#include "cuda/common/mistakes.h"
#include "cuda/common/reduce.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

inline constexpr int kFactorThreads = block_threads(256);
inline constexpr int kFactorWarps = kFactorThreads / kLanes;
inline Grid by_threads(int64_t tasks) {
  return {static_cast<unsigned>((tasks + kFactorThreads - 1) / kFactorThreads), kFactorThreads};
}
inline Grid by_warps(int64_t tasks) {
  return {static_cast<unsigned>((tasks + kFactorWarps - 1) / kFactorWarps), kFactorThreads};
}

template <class T>
struct RealPart {
  using type = T;
};
template <class R>
struct RealPart<Complex<R>> {
  using type = R;
};
template <class T>
using real_t = typename RealPart<T>::type;

template <class Body>
void dispatch_factors(DType dtype, const char* op, Body&& body) {
  if (is_complex(dtype))
    dispatch_device_complex(dtype, body);
  else
    dispatch_full_float(dtype, op, body);
}

template <class T>
TW_DEVICE T of_real(real_t<T> x) {
  if constexpr (is_device_complex<T>)
    return {x, 0};
  else
    return x;
}
template <class T>
TW_DEVICE T conjugated(T x) {
  if constexpr (is_device_complex<T>)
    return conjugate(x);
  else
    return x;
}
// |x|, or what orders complex numbers nearly as well.
template <class T>
TW_DEVICE real_t<T> rough_size(T x) {
  if constexpr (is_device_complex<T>)
    return std::fabs(x.re) + std::fabs(x.im);
  else
    return std::fabs(x);
}
template <class T>
TW_DEVICE real_t<T> exact_size(T x) {
  if constexpr (is_device_complex<T>)
    return std::hypot(x.re, x.im);
  else
    return std::fabs(x);
}

// Matrices [count, rows, columns] next to each other, by rows, in memory of their own.
template <class T>
class Matrices {
 public:
  Matrices(int64_t number, int64_t row_count, int64_t column_count)
      : count(number),
        rows(row_count),
        columns(column_count),
        memory_(std::make_unique<DeviceScratch>(static_cast<size_t>(number * row_count * column_count) *
                                                sizeof(T))) {}
  // A copy of x, converted and broadcast to `sizes`, or of its transposed matrices.
  Matrices(const device::Operand& x, const Dims& sizes, bool transposed, const char* op)
      : Matrices(numel(Dims(sizes.begin(), sizes.end() - 2)), sizes[sizes.size() - (transposed ? 1 : 2)],
                 sizes[sizes.size() - (transposed ? 2 : 1)]) {
    Dims strides = strides_of(sizes, transposed);
    copy_cast({data(), &sizes, &strides, dtype_of<T>}, x, op);
  }
  void write_to(const device::Operand& out, bool transposed, const char* op) const {
    Dims strides = strides_of(*out.sizes, transposed);
    copy_cast(out, {data(), out.sizes, &strides, dtype_of<T>}, op);
  }
  T* data() const { return memory_->template as<T>(); }

  int64_t count, rows, columns;

 private:
  Dims strides_of(const Dims& sizes, bool transposed) const {
    Dims strides = contiguous_strides(sizes);
    if (transposed) {
      strides[sizes.size() - 2] = 1;
      strides[sizes.size() - 1] = columns;
    }
    return strides;
  }
  std::unique_ptr<DeviceScratch> memory_;
};

// Whichever is larger, a NaN if there is one.
struct LargerOrNan {
  template <class C>
  TW_DEVICE C operator()(C a, C b) const {
    return b > a || b != b ? b : a;
  }
};

// The largest sum of a row of a block's matrix [n, n], in all threads; size(i, c), once for each element.
template <class R, class Size>
TW_DEVICE R largest_row_sum(int64_t n, const Size& size) {
  R largest = 0;
  for (int64_t i = warp_index(); i < n; i += kFactorWarps) {
    R sum = 0;
    for (int64_t c = lane_index(); c < n; c += kLanes) sum += size(i, c);
    largest = LargerOrNan()(largest, warp_reduce(sum, [](R p, R q) { return p + q; }));
  }
  return block_reduce<kFactorThreads>(largest, R(0), LargerOrNan());
}

// Where element e of a batch of row-major matrices stands.
struct MatrixPlace {
  int64_t matrix, row, column;
};
TW_DEVICE MatrixPlace matrix_place(int64_t e, int64_t rows, int64_t columns) {
  return {e / (rows * columns), e / columns % rows, e % columns};
}
struct Smaller {
  TW_DEVICE int64_t operator()(int64_t a, int64_t b) const { return b < a ? b : a; }
};

// Exchanges rows `a` and `b` of [.., n].
template <class T>
TW_DEVICE void exchange_rows(T* matrix, int64_t n, int64_t a, int64_t b) {
  for (int64_t c = threadIdx.x; c < n && a != b; c += kFactorThreads) {
    T kept = matrix[a * n + c];
    matrix[a * n + c] = matrix[b * n + c];
    matrix[b * n + c] = kept;
  }
}

// Divides what is below the pivot by it, and takes its multiples from the rows below.
template <class T>
TW_DEVICE void eliminate(T* matrix, int64_t m, int64_t n, int64_t j) {
  T pivot = matrix[j * n + j];
  for (int64_t i = j + 1 + threadIdx.x; i < m && !(pivot == T{}); i += kFactorThreads)
    matrix[i * n + j] = matrix[i * n + j] / pivot;
  __syncthreads();
  for (int64_t i = j + 1 + warp_index(); i < m; i += kFactorWarps) {
    T factor = matrix[i * n + j];
    for (int64_t c = j + 1 + lane_index(); c < n; c += kLanes)
      matrix[i * n + c] = matrix[i * n + c] - factor * matrix[j * n + c];
  }
  __syncthreads();
}

// P A = L U in place, pivots from 1; info: the first pivot that is 0, from 1, or 0.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    lu_kernel(T* matrices, int64_t m, int64_t n, int32_t* pivots, int32_t* info, MistakeNote singular,
              bool check) {
  using R = real_t<T>;
  T* matrix = matrices + blockIdx.x * m * n;
  int64_t small = m < n ? m : n, failed = 0;
  for (int64_t j = 0; j < small; j++) {
    R size = R(-1);
    int64_t at = m;
    for (int64_t i = j + threadIdx.x; i < m; i += kFactorThreads) {
      R own = rough_size(matrix[i * n + j]);
      if (own > size || (own != own && size == size)) size = own, at = i;
    }
    R most = block_reduce<kFactorThreads>(size, R(-1), LargerOrNan());
    bool chosen = size == most || (size != size && most != most);
    int64_t row = block_reduce<kFactorThreads>(chosen ? at : m, m, Smaller());
    exchange_rows(matrix, n, j, row);
    if (threadIdx.x == 0) pivots[blockIdx.x * small + j] = static_cast<int32_t>(row + 1);
    __syncthreads();
    if (failed == 0 && matrix[j * n + j] == T{}) failed = j + 1;
    eliminate(matrix, m, n, j);
  }
  if (threadIdx.x != 0) return;
  info[blockIdx.x] = static_cast<int32_t>(failed);
  if (check && failed) singular(failed, blockIdx.x);
}

template <class T>
__global__ void __launch_bounds__(kFactorThreads) conjugate_kernel(T* a, int64_t elements) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (i < elements) a[i] = conjugated(a[i]);
}

// Columns of identities; of NaN for matrices whose info (it may be null) is not 0.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    identity_kernel(T* out, int64_t n, int64_t elements, const int32_t* info) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (i >= elements) return;
  using R = real_t<T>;
  R value = i / n % n == i % n ? R(1) : R(0);
  out[i] = of_real<T>(info && info[i / (n * n)] ? std::numeric_limits<R>::quiet_NaN() : value);
}

// Says that no matrix of an empty batch, or of empty ones, has failed.
inline void clear_info(const device::Operand& info, const char* op) {
  if (info.count())
    check(
        cudaMemsetAsync(info.data, 0, static_cast<size_t>(info.count()) * sizeof(int32_t), current_stream()),
        op);
}

void not_invertible(const char* op, int64_t pivot, int64_t matrix);

// The factors of square matrices and what belongs to them.
template <class T>
class LuFactors {
 public:
  // info: one of each matrix, or null. With `check` a singular matrix is an error of `op`.
  LuFactors(Matrices<T>& a, int32_t* pivots, int32_t* info, bool check, const char* op)
      : own_pivots_(pivots ? 0 : static_cast<size_t>(a.count * a.rows) * sizeof(int32_t)),
        own_info_(info ? 0 : static_cast<size_t>(a.count) * sizeof(int32_t)),
        pivots(pivots ? pivots : own_pivots_.as<int32_t>()),
        info(info ? info : own_info_.as<int32_t>()) {
    launch(op, lu_kernel<T>, {static_cast<unsigned>(a.count), kFactorThreads}, a.data(), a.rows, a.columns,
           this->pivots, this->info, mistake_note(op, not_invertible), check);
  }

 private:
  DeviceScratch own_pivots_, own_info_;

 public:
  int32_t *pivots, *info;
};

// Of `a`, whose triangle is read row by row; `unit`: its diagonal counts as ones.
struct TriangleShape {
  bool upper, unit;
};

// A warp a column, which lies in memory as a row of x [count, columns, n].
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    triangular_kernel(const T* triangles, T* x, int64_t n, int64_t columns, int64_t tasks,
                      TriangleShape shape) {
  int64_t task = static_cast<int64_t>(blockIdx.x) * kFactorWarps + warp_index();
  if (task >= tasks) return;
  const T* a = triangles + task / columns * n * n;
  T* column = x + task * n;
  for (int64_t step = 0; step < n; step++) {
    int64_t i = shape.upper ? n - 1 - step : step;
    T known{};
    for (int64_t s = lane_index(); s < step; s += kLanes) {
      int64_t c = shape.upper ? n - 1 - s : s;
      known = known + a[i * n + c] * column[c];
    }
    known = warp_reduce(known, [](T p, T q) { return p + q; });
    if (lane_index() == 0) {
      T value = column[i] - known;
      column[i] = shape.unit ? value : value / a[i * n + i];
    }
    __syncwarp();
  }
}

template <class T>
void solve_triangles(const T* triangles, const Matrices<T>& columns, TriangleShape shape, const char* op) {
  int64_t tasks = columns.count * columns.rows;
  launch(op, triangular_kernel<T>, by_warps(tasks), triangles, columns.data(), columns.columns, columns.rows,
         tasks, shape);
}

// out = a^H, of square matrices.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    adjoint_kernel(const T* a, T* out, int64_t n, int64_t elements) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (i >= elements) return;
  int64_t first = i / (n * n) * n * n, row = i / n % n, column = i % n;
  out[i] = conjugated(a[first + column * n + row]);
}

template <class T>
Matrices<T> adjoint_of(const Matrices<T>& a, const char* op) {
  Matrices<T> result(a.count, a.rows, a.columns);
  int64_t elements = a.count * a.rows * a.columns;
  launch(op, adjoint_kernel<T>, by_threads(elements), static_cast<const T*>(a.data()), result.data(), a.rows,
         elements);
  return result;
}

// A thread a column [count, columns, n]: the exchanges of the pivots, from the first on or from the last.
template <class T>
__global__ void __launch_bounds__(kFactorThreads)
    exchange_kernel(T* x, const int32_t* pivots, int64_t n, int64_t columns, int64_t tasks, bool backward,
                    MistakeNote wrong) {
  int64_t task = static_cast<int64_t>(blockIdx.x) * kFactorThreads + threadIdx.x;
  if (task >= tasks) return;
  const int32_t* own = pivots + task / columns * n;
  T* column = x + task * n;
  for (int64_t s = 0; s < n; s++) {
    int64_t j = backward ? n - 1 - s : s, other = own[j] - 1;
    if (other < 0 || other >= n) {
      wrong(other + 1, n);
      continue;
    }
    T kept = column[j];
    column[j] = column[other];
    column[other] = kept;
  }
}

void no_pivot(const char* op, int64_t pivot, int64_t rows);

// columns: [count, columns, n], the right sides, which become the solutions of A x = b or A^H x = b.
template <class T>
void solve_factored(const Matrices<T>& lu, const int32_t* pivots, const Matrices<T>& columns, bool adjoint,
                    const char* op) {
  int64_t tasks = columns.count * columns.rows;
  auto exchange = [&] {
    launch(op, exchange_kernel<T>, by_threads(tasks), columns.data(), pivots, columns.columns, columns.rows,
           tasks, adjoint, mistake_note(op, no_pivot));
  };
  if (!adjoint) {
    exchange();
    solve_triangles<T>(lu.data(), columns, {false, true}, op);
    return solve_triangles<T>(lu.data(), columns, {true, false}, op);
  }
  Matrices<T> flipped = adjoint_of(lu, op);
  solve_triangles<T>(flipped.data(), columns, {false, false}, op);
  solve_triangles<T>(flipped.data(), columns, {true, true}, op);
  exchange();
}

}  // namespace tw::cuda
