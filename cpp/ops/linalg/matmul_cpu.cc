// mm and bmm. float32, float64 and the complex types go to BLAS (see device/cpu/gemm.h), the half types through
// float32 copies, integers through a plain loop. Floor: 2·M·N·K flops over the machine's peak.
#include <memory>

#include "device/cpu/cast.h"
#include "device/cpu/gemm.h"
#include "device/cpu/parallel.h"

namespace tw::ops {

using namespace device;

namespace {

// One matrix of an operand of rank 2 or 3 in the form that gemm takes; copies it where no stride is 1.
template <class T>
class MatrixOperand {
 public:
  explicit MatrixOperand(const Operand& operand) : rank_(operand.rank()) {
    bool usable = operand.dtype == dtype_of<T> && lies_well(operand);
    if (!usable) {
      sizes_ = *operand.sizes;
      strides_ = contiguous_strides(sizes_);
      copy_.reset(new char[std::max<int64_t>(operand.count(), 1) * sizeof(T)]);
      operand_ = {copy_.get(), &sizes_, &strides_, dtype_of<T>};
      copy_cast(operand_, operand);
    } else {
      operand_ = operand;
    }
  }
  Matrix<T> matrix(int64_t batch) const {
    const T* data = operand_.as<T>() + (rank_ == 3 ? batch * operand_.stride(0) : 0);
    return {data, operand_.stride(-2), operand_.stride(-1)};
  }

 private:
  static bool lies_well(const Operand& o) {
    int64_t rows = o.size(-2), columns = o.size(-1), down = o.stride(-2), right = o.stride(-1);
    bool by_rows = (right == 1 || columns == 1) && (down >= columns || rows == 1);
    bool by_columns = (down == 1 || rows == 1) && (right >= rows || columns == 1);
    return by_rows || by_columns;
  }
  int64_t rank_;
  Dims sizes_, strides_;
  std::unique_ptr<char[]> copy_;
  Operand operand_;
};

template <class T>
void blas_product(const Operand& out, const Operand& a_in, const Operand& b_in) {
  MatrixOperand<T> a(a_in), b(b_in);
  int64_t m = out.size(-2), n = out.size(-1), k = a_in.size(-1), batches = out.rank() == 3 ? out.size(0) : 1;
  double flops = 2.0 * static_cast<double>(m) * n * k;
  // Small products: a batch a thread; large ones: the threads share each.
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(2e6 / std::max(flops, 1.0)));
  T* c = out.as<T>();
  auto one = [&](int64_t i) { gemm<T>(m, n, k, T(1), a.matrix(i), b.matrix(i), T(0), c + i * m * n, n); };
  if (batches >= num_threads()) {
    parallel_for(0, batches, grain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i++) one(i);
    });
  } else {
    for (int64_t i = 0; i < batches; i++) one(i);
  }
}

template <class T>
void half_product(const Operand& out, const Operand& a, const Operand& b) {
  std::unique_ptr<char[]> wide(new char[std::max<int64_t>(out.count(), 1) * sizeof(float)]);
  Operand result{wide.get(), out.sizes, out.strides, DType::kFloat32};
  blas_product<float>(result, a, b);
  copy_cast(out, result);
}

template <class T>
void integer_product(const Operand& out, const Operand& a, const Operand& b) {
  int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1), batches = out.rank() == 3 ? out.size(0) : 1;
  T* c = out.as<T>();
  parallel_for(0, batches * m, std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, n * k)), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++) {
      const T* a_row = a.as<T>() + (out.rank() == 3 ? row / m * a.stride(0) : 0) + row % m * a.stride(-2);
      const T* b_all = b.as<T>() + (out.rank() == 3 ? row / m * b.stride(0) : 0);
      T* c_row = c + row * n;
      std::fill_n(c_row, n, T(0));
      for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++)
          c_row[j] = static_cast<T>(c_row[j] + a_row[i * a.stride(-1)] * b_all[i * b.stride(-2) + j * b.stride(-1)]);
    }
  });
}

void product_kernel(KernelContext& k) {
  dispatch_number(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (is_half_type<T>) half_product<T>(k.out(), k.in(0), k.in(1));
    else if constexpr (std::is_integral_v<T>) integer_product<T>(k.out(), k.in(0), k.in(1));
    else blas_product<T>(k.out(), k.in(0), k.in(1));
  });
}

}  // namespace

void kernels_matmul(KernelTable& table) {
  table.add("mm", product_kernel);
  table.add("bmm", product_kernel);
}

}  // namespace tw::ops
