// Floor: the condition's bytes over the bandwidth.
#include "device/cpu/reduce.h"
#include "ops/reduction/assert_none.h"

namespace tw::ops {

using namespace device;

namespace {

bool any_holds(const Operand& condition) {
  bool found = false;
  const Dims scalar = {};
  reduce_loop<bool, uint8_t, bool>(
      condition, Operand{&found, &scalar, &scalar, DType::kBool}, reduce_mask({}, condition.rank()), 0,
      [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); },
      [](uint8_t total) { return total != 0; }, [](bool x) { return static_cast<uint8_t>(x); });
  return found;
}

// The position of the first element that holds, in row-major order; there is one.
int64_t first_holding(const Operand& condition) {
  Dims strides = contiguous_strides(*condition.sizes);
  for (int64_t position = 0;; position++) {
    int64_t offset = 0, rest = position;
    for (int64_t d = 0; d < condition.rank(); d++) {
      offset += rest / strides[d] * condition.stride(d);
      rest %= strides[d];
    }
    if (condition.as<bool>()[offset]) return position;
  }
}

void assert_none_kernel(KernelContext& k) {
  if (any_holds(k.in(0))) raise_assertion(k.attrs<AssertAttrs>(), *k.in(0).sizes, first_holding(k.in(0)));
}

}  // namespace

void kernels_assert_none(KernelTable& table) { table.add("assert_none", assert_none_kernel); }

}  // namespace tw::ops
