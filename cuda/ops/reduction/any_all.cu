// any, all, count_nonzero_dims. Reads the input once; three operations an element. Floor: the input's bytes
// over the bandwidth. An element holds where a bit of it is set, the sign of a float aside: elements of a
// size are read alike, whatever their dtype, complex numbers by their parts.
//
// Per element: 1 bytes and 3 operations (any, bool).
#include "cuda/common/complex.h"
#include "cuda/common/reduce.h"
#include "ops/reduction/reduction.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

template <class Bits>
struct Holds {
  Bits counted;
  TW_DEVICE bool operator()(Bits x) const { return (x & counted) != 0; }
};

struct ComplexHolds {
  template <class R>
  TW_DEVICE bool operator()(Complex<R> z) const {
    return z.re != 0 || z.im != 0;
  }
};

// Whether any element holds; of `all` elements, that none does not.
template <class H>
struct Any {
  H holds;
  bool all;
  TW_DEVICE int32_t none() const { return 0; }
  template <class In>
  TW_DEVICE int32_t map(In x) const {
    return holds(x) != all;
  }
  TW_DEVICE int32_t combine(int32_t a, int32_t b) const { return a | b; }
  TW_DEVICE int32_t finish(int32_t found) const { return (found != 0) != all; }
};
template <class H>
struct Count {
  H holds;
  TW_DEVICE int64_t none() const { return 0; }
  template <class In>
  TW_DEVICE int64_t map(In x) const {
    return holds(x);
  }
  TW_DEVICE int64_t combine(int64_t a, int64_t b) const { return a + b; }
  TW_DEVICE int64_t finish(int64_t total) const { return total; }
};

// reduce_by<In>(mask, holds)
template <class Body>
void with_bits(KernelContext& k, const Body& reduce_by) {
  const auto& a = k.attrs<ops::ReduceAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  DType dtype = k.in(0).dtype;
  if (is_complex(dtype))
    return dispatch_device_complex(
        dtype, [&]<class C>() { reduce_by.template operator()<C>(mask, ComplexHolds()); });
  auto with = [&]<class Bits>() {
    auto all = static_cast<Bits>(~Bits(0));
    reduce_by.template operator()<Bits>(mask,
                                        Holds<Bits>{is_float(dtype) ? static_cast<Bits>(all >> 1) : all});
  };
  switch (size_of(dtype)) {
    case 1:
      return with.template operator()<uint8_t>();
    case 2:
      return with.template operator()<uint16_t>();
    case 4:
      return with.template operator()<uint32_t>();
    default:
      return with.template operator()<uint64_t>();
  }
}

template <bool kAll>
void any_kernel(KernelContext& k) {
  with_bits(k, [&]<class In, class H>(uint64_t mask, H holds) {
    reduce<In, int32_t>(k.in(0), k.out(), mask, k.op, Any<H>{holds, kAll});
  });
}
void count_kernel(KernelContext& k) {
  with_bits(k, [&]<class In, class H>(uint64_t mask, H holds) {
    reduce<In, int64_t>(k.in(0), k.out(), mask, k.op, Count<H>{holds});
  });
}

}  // namespace

void kernels_any_all(device::KernelTable& table) {
  table.add("any", any_kernel<false>);
  table.add("all", any_kernel<true>);
  table.add("count_nonzero_dims", count_kernel);
}

}  // namespace tw::cuda
