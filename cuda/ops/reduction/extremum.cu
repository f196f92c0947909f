// amax, amin. Reads the input once; one comparison an element. NaN wins. Floor: the input's bytes over the
// bandwidth.
//
// Per element: 4 bytes and 3 operations (amax, float32).
#include <limits>

#include "cuda/common/dense.h"
#include "cuda/common/rows.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// What values of T are compared as: whole numbers as ints, which a shuffle takes, too.
template <class T>
using compared_t = std::conditional_t<sizeof(compute_t<T>) < sizeof(int32_t), int32_t, compute_t<T>>;

// The largest value, or the smallest, which is the largest of what lies the other way round.
template <class V>
struct Extremum {
  V identity;
  bool smallest;
  TW_DEVICE V turned(V x) const {
    if constexpr (std::is_floating_point_v<V>)
      return smallest ? -x : x;
    else
      return smallest ? ~x : x;
  }
  TW_DEVICE V none() const { return identity; }
  template <class C>
  TW_DEVICE V map(C x) const {
    return turned(static_cast<V>(x));
  }
  TW_DEVICE V combine(V a, V b) const {
    // b != b is false for integers, and the compiler drops it.
    return b > a || b != b ? b : a;
  }
  TW_DEVICE V finish(V x) const { return turned(x); }
};

template <bool kLargest>
void extremum_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::ReduceAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  dispatch_real_bool(k.in(0).dtype, k.op, [&]<class T>() {
    using V = compared_t<T>;
    using Limits = std::numeric_limits<V>;
    V identity = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    reduce<T, V>(k.in(0), k.out(), mask, k.op, Extremum<V>{identity, !kLargest});
  });
}

// The best element so far, and where it stands; index -1: none.
template <class V>
struct Best {
  bool largest;
  V value{};
  int64_t index = -1;

  TW_DEVICE void meet(V other, int64_t at) {
    if (at < 0) return;
    bool further = (largest ? other > value : other < value) || (other != other && value == value);
    bool level = other == value || (other != other && value != value);
    if (index < 0 || further || (level && at < index)) {
      value = other;
      index = at;
    }
  }
  TW_DEVICE void meet_lanes() {
    TW_UNROLL
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) {
      V other = shuffle_xor(value, lanes);
      int64_t at = shuffle_xor(index, lanes);
      meet(other, at);
    }
  }
};

// `values` and `indices` (either may be null) have an element a row, in the order of the rows.
struct ArgPass {
  DType dtype;
  bool largest;
  void* values;
  int64_t* indices;
};

template <class V, int kGroup>
__global__ void __launch_bounds__(kReduceThreads) arg_kernel(Rows<1> rows, ArgPass pass) {
  int64_t row = row_of_thread<kGroup>(), length = row < rows.count ? rows.length : 0;
  char* at[1];
  rows.at(row < rows.count ? row : 0, at);
  Best<V> best{pass.largest};
  fitting_t<V>::visit(pass.dtype, [&]<class T>() {
    for (int64_t i = thread_of_row<kGroup>(); i < length; i += kGroup)
      best.meet(static_cast<V>(value_at<T>(at[0], rows.steps[0], i)), i);
  });
  best.meet_lanes();
  if constexpr (kGroup > kLanes) {
    TW_SHARED(V, of_warps, kGroup / kLanes);
    TW_SHARED(int64_t, places, kGroup / kLanes);
    if (lane_index() == 0) {
      of_warps[warp_index()] = best.value;
      places[warp_index()] = best.index;
    }
    __syncthreads();
    for (int warp = 0; warp < kGroup / kLanes; warp++) best.meet(of_warps[warp], places[warp]);
  }
  if (row >= rows.count || thread_of_row<kGroup>() != 0) return;
  if (pass.values) store_as(pass.values, pass.dtype, row, best.value);
  if (pass.indices) pass.indices[row] = best.index;
}

template <bool kLargest>
void find_places(KernelContext& k, const Operand& in, int64_t dim, const Operand* values,
                 const Operand& indices) {
  if (indices.count() == 0) return;
  TW_CHECK(indices.contiguous() && (!values || values->contiguous()), kNotImplemented, k.op,
           ": results that are not row-major are not supported on CUDA");
  TW_CHECK(!is_complex(in.dtype), kNotImplemented, k.op, ": dtype ", in.dtype, " is not supported");
  auto rows = make_rows<1>({&in}, dim, k.op);
  ArgPass pass{in.dtype, kLargest, values ? values->data : nullptr, indices.as<int64_t>()};
  auto with = [&]<class V>() {
    launch_on_rows(k.op, rows, arg_kernel<V, kLanes>, arg_kernel<V, kReduceThreads>, pass);
  };
  if (in.dtype == DType::kFloat64)
    with.template operator()<double>();
  else if (is_float(in.dtype))
    with.template operator()<float>();
  else
    with.template operator()<int64_t>();
}

template <bool kLargest>
void extremum_dim_kernel(KernelContext& k) {
  int64_t dim = wrap_dim(k.attrs<ops::DimKeepAttrs>().dim, k.in(0).rank(), k.op);
  find_places<kLargest>(k, k.in(0), dim, &k.out(0), k.out(1));
}

template <bool kLargest>
void place_kernel(KernelContext& k) {
  const auto& dim = k.attrs<ops::OptionalDimAttrs>().dim;
  const Operand& in = k.in(0);
  if (dim) return find_places<kLargest>(k, in, wrap_dim(*dim, in.rank(), k.op), nullptr, k.out());
  // One row, in row-major order.
  dispatch_real_bool(in.dtype, k.op, [&]<class T>() {
    Dense<T> flat(in, k.op);
    Dims sizes{in.count()}, strides{1};
    find_places<kLargest>(k, {flat.data(), &sizes, &strides, in.dtype}, 0, nullptr, k.out());
  });
}

}  // namespace

void kernels_extremum(device::KernelTable& table) {
  table.add("amax", extremum_kernel<true>);
  table.add("amin", extremum_kernel<false>);
  table.add("max_dim", extremum_dim_kernel<true>);
  table.add("min_dim", extremum_dim_kernel<false>);
  table.add("argmax", place_kernel<true>);
  table.add("argmin", place_kernel<false>);
}

}  // namespace tw::cuda
