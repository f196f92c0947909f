// What the kernels of matrix factorisations share: their dtypes, sizes, checks and failures.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "base/error.h"
#include "device/cpu/lapack.h"

namespace tw::ops {

TW_DISPATCHER(dispatch_factorisation, TW_CASES_FULL_FLOAT TW_CASES_COMPLEX)

struct MatrixBatch {
  int64_t count, rows, columns;
};

inline MatrixBatch batch_of(const device::Operand& a, const char* op) {
  int64_t rows = a.size(-2), columns = a.size(-1), count = 1;
  TW_CHECK(std::max(rows, columns) <= device::kMaxMatrixSize, kValue, op, ": matrices of up to ",
           device::kMaxMatrixSize, " rows and columns are wanted, got ", rows, " x ", columns);
  for (int64_t dim = 0; dim < a.rank() - 2; dim++) count *= a.size(dim);
  return {count, rows, columns};
}

// LAPACK's iterations need not end on NaN.
template <class T>
void check_finite(const T* data, int64_t count, const char* op) {
  for (int64_t i = 0; i < count; i++)
    TW_CHECK(std::isfinite(std::real(data[i])) && std::isfinite(std::imag(data[i])), kRuntime, op,
             ": finite numbers are wanted, the input holds NaN or infinity");
}

// LAPACK's info of every matrix of a batch; the first failure is reported, whichever thread met it.
class Failures {
 public:
  explicit Failures(int64_t count) : info_(static_cast<size_t>(count), 0) {}
  int& operator[](int64_t i) { return info_[static_cast<size_t>(i)]; }
  template <class Report>
  void check(Report&& report) const {
    for (size_t i = 0; i < info_.size(); i++)
      if (info_[i] != 0) report(static_cast<int64_t>(i), info_[i]);
  }
  // As the output `info`, contiguous int32.
  void write_to(const device::Operand& out) const {
    std::copy(info_.begin(), info_.end(), out.as<int32_t>());
  }

 private:
  std::vector<int> info_;
};

}  // namespace tw::ops
