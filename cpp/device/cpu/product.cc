#include "device/cpu/product.h"

#include "device/cpu/cast.h"
#include "device/cpu/gemm.h"
#include "device/cpu/parallel.h"
#include "device/cpu/scratch.h"

namespace tw::device {

namespace {

constexpr int64_t kIntMax = 0x7fffffff;  // BLAS counts in 32 bits

// Whether BLAS can read a matrix of these sizes and strides.
bool lies_well(int64_t rows, int64_t columns, int64_t down, int64_t right) {
  bool by_rows = (right == 1 || columns == 1) && (rows == 1 || (down >= columns && down <= kIntMax));
  bool by_columns = (down == 1 || rows == 1) && (columns == 1 || (right >= rows && right <= kIntMax));
  return by_rows || by_columns;
}

bool lies_well(const Operand& o) { return lies_well(o.size(-2), o.size(-1), o.stride(-2), o.stride(-1)); }

// An operand of T whose matrices lie by rows or by columns, copied where they do not.
template <class T>
class MatrixOperand {
 public:
  explicit MatrixOperand(const Operand& given) : operand_(given) {
    if (given.dtype == dtype_of<T> && lies_well(given)) return;
    sizes_ = *given.sizes;
    size_t lead = sizes_.size() - 2;
    for (size_t dim = 0; dim < lead; dim++)  // what is expanded is copied once
      if (given.stride(dim) == 0) sizes_[dim] = std::min<int64_t>(sizes_[dim], 1);
    strides_ = contiguous_strides(sizes_);
    copy_ = Scratch(static_cast<size_t>(numel(sizes_)) * sizeof(T));
    Operand source{given.data, &sizes_, given.strides, given.dtype};
    copy_cast({copy_.get(), &sizes_, &strides_, dtype_of<T>}, source);
    for (size_t dim = 0; dim < lead; dim++)
      if (sizes_[dim] != given.size(dim)) strides_[dim] = 0;
    operand_ = {copy_.get(), given.sizes, &strides_, dtype_of<T>};
  }
  const Operand& operand() const { return operand_; }
  Matrix<T> at(int64_t offset) const {
    return {operand_.template as<T>() + offset, operand_.stride(-2), operand_.stride(-1)};
  }

 private:
  Dims sizes_, strides_;
  Scratch copy_;
  Operand operand_;
};

// Where matrix `index` of out's leading dims lies in `x`, whose leading dims broadcast to them.
int64_t batch_offset(const Operand& x, const Operand& out, int64_t index) {
  int64_t offset = 0;
  for (int64_t dim = out.rank() - 3; dim >= 0; dim--) {
    int64_t own = dim - (out.rank() - x.rank());
    if (own >= 0 && x.size(own) != 1) offset += index % out.size(dim) * x.stride(own);
    index /= out.size(dim);
  }
  return offset;
}

bool one_matrix(const Operand& x) {
  for (int64_t dim = 0; dim < x.rank() - 2; dim++)
    if (x.size(dim) != 1 && x.stride(dim) != 0) return false;
  return true;
}

// With one matrix b for all of a's, whose rows follow each other evenly: a single large product.
template <class T>
bool fold_batches(const Operand& out, const Operand& a, const Operand& b, T alpha, T beta, const T* bias) {
  if (out.rank() == 2 || a.rank() != out.rank() || !one_matrix(b)) return false;
  int64_t rows = 1;
  for (int64_t dim = 0; dim < a.rank() - 1; dim++) {
    if (a.size(dim) != out.size(dim)) return false;
    rows *= a.size(dim);
  }
  Dims strides;
  if (!view_strides(*a.sizes, *a.strides, Dims{rows, a.size(-1)}, &strides)) return false;
  if (!lies_well(rows, a.size(-1), strides[0], strides[1])) return false;  // dims of size 1 hid it
  gemm<T>(rows, out.size(-1), a.size(-1), alpha, {a.as<T>(), strides[0], strides[1]},
          {b.as<T>(), b.stride(-2), b.stride(-1)}, beta, out.as<T>(), out.size(-1), bias);
  return true;
}

template <class T>
void blas_product(const Operand& out, const Operand& a_in, const Operand& b_in, T alpha, T beta,
                  const T* bias = nullptr) {
  MatrixOperand<T> a(a_in), b(b_in);
  if (fold_batches<T>(out, a.operand(), b.operand(), alpha, beta, bias)) return;
  int64_t m = out.size(-2), n = out.size(-1), k = a_in.size(-1);
  if (m == 0 || n == 0) return;
  int64_t batches = out.count() / (m * n), threads = num_threads();
  T* c = out.as<T>();
  auto one = [&](int64_t i) {
    gemm<T>(m, n, k, alpha, a.at(batch_offset(a.operand(), out, i)), b.at(batch_offset(b.operand(), out, i)),
            beta, c + i * m * n, n, bias);
  };
  // Matrices are shared among the threads; where that does not come out even, large ones are cut instead.
  double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  bool cut = batches < threads || (batches % threads != 0 && batches < 4 * threads && flops > 3e7);
  if (cut) {
    for (int64_t i = 0; i < batches; i++) one(i);
    return;
  }
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(2e6 / std::max(flops, 1.0)));
  parallel_for(0, batches, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) one(i);
  });
}

template <class T>
void half_product(const Operand& out, const Operand& a, const Operand& b, float alpha, float beta) {
  Scratch wide(static_cast<size_t>(out.count()) * sizeof(float));
  Operand result{wide.get(), out.sizes, out.strides, DType::kFloat32};
  if (beta != 0) copy_cast(result, out);
  blas_product<float>(result, a, b, alpha, beta);
  copy_cast(out, result);
}

template <class T>
void integer_row(int64_t n, int64_t k, T alpha, const T* a, int64_t a_stride, const T* b, int64_t down,
                 int64_t right, T* c) {
  for (int64_t i = 0; i < k; i++) {
    auto factor =
        static_cast<uint64_t>(alpha) * static_cast<uint64_t>(a[i * a_stride]);  // wraps around, defined
    const T* b_row = b + i * down;
    for (int64_t j = 0; j < n; j++)
      c[j] = static_cast<T>(static_cast<uint64_t>(c[j]) + factor * static_cast<uint64_t>(b_row[j * right]));
  }
}

template <class T>
void integer_product(const Operand& out, const Operand& a, const Operand& b, T alpha, T beta) {
  int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  if (out.count() == 0) return;
  int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, n * k));
  parallel_for(0, out.count() / n, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++) {
      const T* a_row = a.as<T>() + batch_offset(a, out, row / m) + row % m * a.stride(-2);
      T* c = out.as<T>() + row * n;
      for (int64_t j = 0; j < n; j++)
        c[j] = beta == 0 ? T(0) : static_cast<T>(static_cast<uint64_t>(beta) * static_cast<uint64_t>(c[j]));
      integer_row(n, k, alpha, a_row, a.stride(-1), b.as<T>() + batch_offset(b, out, row / m), b.stride(-2),
                  b.stride(-1), c);
    }
  });
}

}  // namespace

void matrix_product(const Operand& out, const Operand& a, const Operand& b, const Scalar& alpha,
                    const Scalar& beta) {
  dispatch_number(out.dtype, "matmul", [&]<class T>() {
    if constexpr (is_half_type<T>)
      half_product<T>(out, a, b, alpha.to<float>(), beta.to<float>());
    else if constexpr (std::is_integral_v<T>)
      integer_product<T>(out, a, b, alpha.to<T>(), beta.to<T>());
    else
      blas_product<T>(out, a, b, alpha.to<T>(), beta.to<T>());
  });
}

void matrix_product_with_bias(const Operand& out, const Operand& a, const Operand& b, const Operand& bias) {
  bool plain = out.dtype == DType::kFloat32 && bias.rank() == 1 && bias.size(0) == out.size(-1) &&
               (bias.stride(0) == 1 || bias.size(0) == 1);
  if (plain) return blas_product<float>(out, a, b, 1, 0, bias.as<float>());
  copy_cast(out, bias);
  matrix_product(out, a, b, Scalar(1), Scalar(1));
}

}  // namespace tw::device
