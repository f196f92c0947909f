// any, all, count_nonzero_dims. Reads the input once; three operations an element. Floor: the input's bytes
// over the bandwidth. An element holds where a bit of it is set, the sign of a float aside: elements of a
// size are read alike, whatever their dtype.
//
// Per element: 1 bytes and 3 operations (any, bool).
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

// Whether any element holds; of `all` elements, that none does not.
template <class Bits>
struct Any {
  Holds<Bits> holds;
  bool all;
  TW_DEVICE int32_t none() const { return 0; }
  TW_DEVICE int32_t map(Bits x) const { return holds(x) != all; }
  TW_DEVICE int32_t combine(int32_t a, int32_t b) const { return a | b; }
  TW_DEVICE int32_t finish(int32_t found) const { return (found != 0) != all; }
};
template <class Bits>
struct Count {
  Holds<Bits> holds;
  TW_DEVICE int64_t none() const { return 0; }
  TW_DEVICE int64_t map(Bits x) const { return holds(x); }
  TW_DEVICE int64_t combine(int64_t a, int64_t b) const { return a + b; }
  TW_DEVICE int64_t finish(int64_t total) const { return total; }
};

// reduce_by<Bits>(mask, holds)
template <class Body>
void with_bits(KernelContext& k, const Body& reduce_by) {
  const auto& a = k.attrs<ops::ReduceAttrs>();
  uint64_t mask = mask_of(a.dim ? wrap_dims(*a.dim, k.in(0).rank(), k.op) : Dims(), k.in(0).rank());
  DType dtype = k.in(0).dtype;
  TW_CHECK(!is_complex(dtype), kNotImplemented, k.op, ": dtype ", dtype, " is not supported");
  auto with = [&]<class Bits>() {
    auto all = static_cast<Bits>(~Bits(0));
    reduce_by(mask, Holds<Bits>{is_float(dtype) ? static_cast<Bits>(all >> 1) : all});
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
  with_bits(k, [&]<class Bits>(uint64_t mask, Holds<Bits> holds) {
    reduce<Bits, int32_t>(k.in(0), k.out(), mask, k.op, Any<Bits>{holds, kAll});
  });
}
void count_kernel(KernelContext& k) {
  with_bits(k, [&]<class Bits>(uint64_t mask, Holds<Bits> holds) {
    reduce<Bits, int64_t>(k.in(0), k.out(), mask, k.op, Count<Bits>{holds});
  });
}

}  // namespace

void kernels_any_all(device::KernelTable& table) {
  table.add("any", any_kernel<false>);
  table.add("all", any_kernel<true>);
  table.add("count_nonzero_dims", count_kernel);
}

}  // namespace tw::cuda
