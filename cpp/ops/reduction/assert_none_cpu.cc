// Floor: the condition's bytes over the bandwidth.
#include "base/error.h"
#include "device/cpu/reduce.h"
#include "ops/reduction/reduction.h"

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

// Indices of the first element that holds, in row-major order; there is one.
Dims first_holding(const Operand& condition) {
  Dims at(condition.rank(), 0);
  while (true) {
    int64_t offset = 0;
    for (int64_t d = 0; d < condition.rank(); d++) offset += at[d] * condition.stride(d);
    if (condition.as<bool>()[offset]) return at;
    int64_t d = condition.rank() - 1;
    while (++at[d] == condition.size(d)) at[d--] = 0;
  }
}

ErrorKind kind_of(const std::string& error) {
  if (error == "ValueError") return ErrorKind::kValue;
  return error == "IndexError" ? ErrorKind::kIndex : ErrorKind::kRuntime;
}

void assert_none_kernel(KernelContext& k) {
  if (!any_holds(k.in(0))) return;
  const auto& a = k.attrs<AssertAttrs>();
  throw_error(kind_of(a.error), cat(a.message, " (not so at ", first_holding(k.in(0)), ")"));
}

}  // namespace

void kernels_assert_none(KernelTable& table) { table.add("assert_none", assert_none_kernel); }

}  // namespace tw::ops
