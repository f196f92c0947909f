// cuBLASLt. It counts matrices by columns: a row-major c = a b is its cᵀ = bᵀ aᵀ, and our n is its number of
// rows. The algorithm that its heuristics choose is kept for each shape.
#include "cuda/device/gemm.h"

#include <cublasLt.h>

#include <map>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "cuda/device/scratch.h"
#include "cuda/device/streams.h"

namespace tw::cuda {

namespace {

constexpr size_t kWorkspaceBytes = 32 << 20;

void check_lt(cublasStatus_t status, const char* op) {
  TW_CHECK(status == CUBLAS_STATUS_SUCCESS, kDevice, op, ": cuBLASLt: ", cublasLtGetStatusString(status));
}

cudaDataType_t data_type(const Gemm& gemm) {
  switch (gemm.dtype) {
    case DType::kFloat16:
      return CUDA_R_16F;
    case DType::kBFloat16:
      return CUDA_R_16BF;
    case DType::kFloat32:
      return CUDA_R_32F;
    case DType::kFloat64:
      return CUDA_R_64F;
    case DType::kComplex64:
      return CUDA_C_32F;
    case DType::kComplex128:
      return CUDA_C_64F;
    default:
      TW_FAIL(kNotImplemented, gemm.op, ": matrix products of dtype ", gemm.dtype,
              " are not supported on CUDA");
  }
}

// A matrix as cuBLASLt sees it: by rows it is the transposed one by columns.
class MatrixLayout {
 public:
  MatrixLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading, int64_t batches,
               int64_t stride, const char* op) {
    check_lt(cublasLtMatrixLayoutCreate(&handle_, type, static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(columns), leading),
             op);
    auto count = static_cast<int32_t>(batches);
    check_lt(
        cublasLtMatrixLayoutSetAttribute(handle_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
        op);
    check_lt(cublasLtMatrixLayoutSetAttribute(handle_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                              sizeof(stride)),
             op);
  }
  ~MatrixLayout() { cublasLtMatrixLayoutDestroy(handle_); }
  MatrixLayout(const MatrixLayout&) = delete;
  MatrixLayout& operator=(const MatrixLayout&) = delete;
  cublasLtMatrixLayout_t handle() const { return handle_; }

 private:
  cublasLtMatrixLayout_t handle_ = nullptr;
};

class Product {
 public:
  Product(const Gemm& gemm, cublasComputeType_t compute, cudaDataType_t scale) : op_(gemm.op) {
    check_lt(cublasLtMatmulDescCreate(&handle_, compute, scale), op_);
    set(CUBLASLT_MATMUL_DESC_TRANSA, by_rows(gemm.b) ? CUBLAS_OP_N : CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, by_rows(gemm.a) ? CUBLAS_OP_N : CUBLAS_OP_T);
    if (!gemm.bias) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
  }
  ~Product() { cublasLtMatmulDescDestroy(handle_); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  cublasLtMatmulDesc_t handle() const { return handle_; }
  static bool by_rows(const GemmMatrix& matrix) { return matrix.right == 1; }
  static int64_t leading(const GemmMatrix& matrix) { return by_rows(matrix) ? matrix.down : matrix.right; }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_lt(cublasLtMatmulDescSetAttribute(handle_, attribute, &value, sizeof(value)), op_);
  }
  const char* op_;
  cublasLtMatmulDesc_t handle_ = nullptr;
};

int alignment_of(const void* data) {
  auto address = reinterpret_cast<uintptr_t>(data);
  return address % 16 == 0 ? 16 : address % 8 == 0 ? 8 : address % 4 == 0 ? 4 : 2;
}

using Key = std::tuple<int, DType, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, bool, bool, bool, int, int, int>;

Key key_of(const Gemm& g) {
  return {current_device(),
          g.dtype,
          g.m,
          g.n,
          g.k,
          g.batches,
          Product::leading(g.a),
          Product::leading(g.b),
          g.c_down,
          g.a.batch,
          g.b.batch,
          g.c_batch,
          Product::by_rows(g.a),
          Product::by_rows(g.b),
          g.bias != nullptr,
          alignment_of(g.a.data),
          alignment_of(g.b.data),
          alignment_of(g.c)};
}

cublasLtHandle_t handle_of_device() {
  static std::mutex mutex;
  static auto* handles = new std::map<int, cublasLtHandle_t>;
  std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = (*handles)[current_device()];
  if (!handle) check_lt(cublasLtCreate(&handle), "matmul");
  return handle;
}

// The rows and columns of a factor in cuBLASLt's order.
MatrixLayout factor_layout(const GemmMatrix& matrix, int64_t rows, int64_t columns, cudaDataType_t type,
                           const Gemm& gemm) {
  bool by_rows = Product::by_rows(matrix);
  return MatrixLayout(type, by_rows ? columns : rows, by_rows ? rows : columns, Product::leading(matrix),
                      gemm.batches, matrix.batch, gemm.op);
}

cublasLtMatmulAlgo_t choose(const Gemm& gemm, const Product& product, const MatrixLayout& first,
                            const MatrixLayout& second, const MatrixLayout& result) {
  static std::mutex mutex;
  static auto* known = new std::map<Key, cublasLtMatmulAlgo_t>;
  Key key = key_of(gemm);
  std::lock_guard lock(mutex);
  if (auto found = known->find(key); found != known->end()) return found->second;
  cublasLtMatmulPreference_t preference = nullptr;
  check_lt(cublasLtMatmulPreferenceCreate(&preference), gemm.op);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                                       sizeof(kWorkspaceBytes));
  uint32_t alignments[] = {static_cast<uint32_t>(alignment_of(gemm.b.data)),
                           static_cast<uint32_t>(alignment_of(gemm.a.data)),
                           static_cast<uint32_t>(alignment_of(gemm.c))};
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignments[0],
                                       4);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &alignments[1],
                                       4);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignments[2],
                                       4);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &alignments[2],
                                       4);
  cublasLtMatmulHeuristicResult_t best{};
  int count = 0;
  cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_of_device(), product.handle(), first.handle(), second.handle(),
                                     result.handle(), result.handle(), preference, 1, &best, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  check_lt(status, gemm.op);
  TW_CHECK(count > 0, kDevice, gemm.op, ": cuBLASLt has no algorithm for [", gemm.m, ", ", gemm.k, "] x [",
           gemm.k, ", ", gemm.n, "]");
  return (*known)[key] = best.algo;
}

// alpha or beta as the library reads it.
struct Factor {
  Factor(complex128 value, bool wide)
      : whole(value), half(value), data(wide ? static_cast<const void*>(&whole) : &half) {}
  Factor(const Factor&) = delete;
  Factor& operator=(const Factor&) = delete;
  complex128 whole;  // a real factor is its first part
  complex64 half;
  const void* data;
};

}  // namespace

void run_gemm(const Gemm& gemm, cudaStream_t stream) {
  cudaDataType_t type = data_type(gemm);
  bool wide = gemm.dtype == DType::kFloat64 || gemm.dtype == DType::kComplex128;
  cudaDataType_t scale = is_complex(gemm.dtype) ? type : wide ? CUDA_R_64F : CUDA_R_32F;
  Product product(gemm, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, scale);
  MatrixLayout first = factor_layout(gemm.b, gemm.k, gemm.n, type, gemm);
  MatrixLayout second = factor_layout(gemm.a, gemm.m, gemm.k, type, gemm);
  MatrixLayout result(type, gemm.n, gemm.m, gemm.c_down, gemm.batches, gemm.c_batch, gemm.op);
  cublasLtMatmulAlgo_t algorithm = choose(gemm, product, first, second, result);
  DeviceScratch workspace(kWorkspaceBytes);
  Factor alpha(gemm.alpha, wide), beta(gemm.beta, wide);
  check_lt(cublasLtMatmul(handle_of_device(), product.handle(), alpha.data, gemm.b.data, first.handle(),
                          gemm.a.data, second.handle(), beta.data, gemm.c, result.handle(), gemm.c,
                          result.handle(), &algorithm, workspace.as<void>(), kWorkspaceBytes, stream),
           gemm.op);
}

}  // namespace tw::cuda
