#include "device/cpu/onednn_gemm.h"

#include <dnnl.h>

#include <algorithm>

#include "base/error.h"

namespace tw::device {

namespace {

struct Layout {
  char transposed;
  int64_t leading;
};

Layout layout_of(const Matrix<float>& matrix, int64_t rows, int64_t columns) {
  bool by_rows = matrix.column_stride == 1 || columns == 1;
  if (by_rows && (matrix.row_stride >= columns || rows == 1))
    return {'N', rows == 1 ? columns : matrix.row_stride};
  return {'T', columns == 1 ? rows : matrix.column_stride};
}

}  // namespace

void onednn_gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
                 float* c, int64_t c_stride) {
  Layout left = layout_of(a, m, k), right = layout_of(b, k, n);
  dnnl_status_t status = dnnl_sgemm(left.transposed, right.transposed, m, n, k, alpha, a.data, left.leading,
                                    b.data, right.leading, beta, c, c_stride);
  TW_CHECK(status != dnnl_out_of_memory, kOutOfMemory, "matmul: oneDNN is out of memory");
  TW_CHECK(status == dnnl_success, kInternal, "matmul: oneDNN returned status ", static_cast<int>(status));
}

}  // namespace tw::device
