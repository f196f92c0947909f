// One read of the input: a row is summed from the cache. Several dims, or one that is strided, are gathered
// first.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "device/cpu/dense.h"
#include "device/cpu/parallel.h"
#include "device/cpu/softmax_row.h"
#include "ops/reduction/reduction.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T>
TW_CLONES __attribute__((flatten)) void logsumexp_row(int64_t n, const stored_t<T>* x, stored_t<T>* out) {
  *out = store<T>(row_log_sum<T>(n, x).value());
}

// Complex numbers are shifted by the largest real part.
template <class T>
void logsumexp_row_complex(int64_t n, const T* x, T* out) {
  using R = typename T::value_type;
  R high = -std::numeric_limits<R>::infinity();
  for (int64_t i = 0; i < n; i++) high = std::max(high, x[i].real());
  if (!std::isfinite(high)) high = 0;
  complex128 sum = 0;
  for (int64_t i = 0; i < n; i++) sum += complex128(std::exp(x[i] - high));
  *out = T(std::log(sum)) + high;
}

// The kept dims, then the reduced ones.
struct Reordered {
  Dims sizes, strides;
  Operand operand;
  int64_t row = 1;

  Reordered(const Operand& x, uint64_t mask) {
    for (int reduced = 0; reduced < 2; reduced++) {
      for (int64_t d = 0; d < x.rank(); d++) {
        if (static_cast<int>(mask >> d & 1) != reduced) continue;
        sizes.push_back(x.size(d));
        strides.push_back(x.stride(d));
        if (reduced) row *= x.size(d);
      }
    }
    operand = {x.data, &sizes, &strides, x.dtype};
  }
};

void logsumexp_kernel(KernelContext& k) {
  const auto& a = k.attrs<ReduceGivenAttrs>();
  Dims dims = wrap_dims(a.dim, k.in(0).rank(), k.op);
  Reordered x(k.in(0), reduce_mask(dims, k.in(0).rank()));
  dispatch_float_complex(k.out().dtype, k.op, [&]<class T>() {
    Dense<T> rows(x.operand);
    auto* out = k.out().as<stored_t<T>>();
    parallel_for(0, k.out().count(), 1 + (8 << 10) / (x.row + 1), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i++) {
        if constexpr (is_complex_type<T>)
          logsumexp_row_complex<T>(x.row, rows.data() + i * x.row, out + i);
        else
          logsumexp_row<T>(x.row, rows.data() + i * x.row, out + i);
      }
    });
  });
}

}  // namespace

void kernels_logsumexp(KernelTable& table) { table.add("logsumexp", logsumexp_kernel); }

}  // namespace tw::ops
