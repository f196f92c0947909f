// softmax, log_softmax and their gradients, along one dim.
//
// Forward reads x twice (the second time from the cache, while the rows that are worked on fit it) and writes
// y: one or two exponentials an element. Backward reads g and y twice and writes dx. Floor: x and y, or g, y
// and dx, over the bandwidth. The maximum and the sum of exponentials are found in one reading: a thread that
// meets a larger element scales what it has.
//
// Per element: 8 bytes and 30 operations (softmax, float32).
#include "cuda/common/functions.h"
#include "cuda/common/rows.h"
#include "ops/activation/softmax_formula.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

// Operands: y, x.
template <class T, bool kLog, int kGroup>
__global__ void __launch_bounds__(kReduceThreads) softmax_kernel(Rows<2> rows) {
  using C = compute_t<T>;
  int64_t row = row_of_thread<kGroup>();
  int thread = thread_of_row<kGroup>();
  int64_t length = row < rows.count ? rows.length : 0;
  char* at[2];
  rows.at(row < rows.count ? row : 0, at);
  LogSum<C> own;
  for (int64_t i = thread; i < length; i += kGroup) own.add(value_at<T>(at[1], rows.steps[1], i));
  auto [of_row, sum] = own.template of_group<kGroup>();
  C scale = kLog ? std::log(sum) : C(1) / sum;
  for (int64_t i = thread; i < length; i += kGroup) {
    C x = value_at<T>(at[1], rows.steps[1], i) - of_row;
    put_at<T>(at[0], rows.steps[0], i, kLog ? x - scale : std::exp(x) * scale);
  }
}

// Operands: dx, g, y.
template <class T, bool kLog, int kGroup>
__global__ void __launch_bounds__(kReduceThreads) softmax_backward_kernel(Rows<3> rows) {
  using C = compute_t<T>;
  int64_t row = row_of_thread<kGroup>();
  int thread = thread_of_row<kGroup>();
  int64_t length = row < rows.count ? rows.length : 0;
  char* at[3];
  rows.at(row < rows.count ? row : 0, at);
  C sum = 0;
  for (int64_t i = thread; i < length; i += kGroup) {
    C g = value_at<T>(at[1], rows.steps[1], i);
    sum += kLog ? g : g * value_at<T>(at[2], rows.steps[2], i);
  }
  sum = group_reduce<kGroup>(sum, C(0), Plus());
  for (int64_t i = thread; i < length; i += kGroup) {
    C g = value_at<T>(at[1], rows.steps[1], i), y = value_at<T>(at[2], rows.steps[2], i);
    put_at<T>(at[0], rows.steps[0], i,
              kLog ? ops::log_softmax_gradient<Functions>(g, y, sum) : ops::softmax_gradient(g, y, sum));
  }
}

int64_t dim_of(const KernelContext& k, int64_t dim) { return wrap_dim(dim, k.in(0).rank(), k.op); }

template <bool kLog>
void forward_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  auto rows = make_rows<2>({&k.out(), &k.in(0)}, dim_of(k, k.attrs<ops::DimDTypeAttrs>().dim), k.op);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    launch_on_rows(k.op, rows, softmax_kernel<T, kLog, kLanes>, softmax_kernel<T, kLog, kReduceThreads>);
  });
}

template <bool kLog>
void backward_kernel(KernelContext& k) {
  if (k.out().count() == 0) return;
  auto rows = make_rows<3>({&k.out(), &k.in(0), &k.in(1)}, dim_of(k, k.attrs<ops::RowDimAttrs>().dim), k.op);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    launch_on_rows(k.op, rows, softmax_backward_kernel<T, kLog, kLanes>,
                   softmax_backward_kernel<T, kLog, kReduceThreads>);
  });
}

}  // namespace

void kernels_softmax(device::KernelTable& table) {
  table.add("softmax", forward_kernel<false>);
  table.add("log_softmax", forward_kernel<true>);
  table.add("softmax_backward", backward_kernel<false>);
  table.add("log_softmax_backward", backward_kernel<true>);
}

}  // namespace tw::cuda
