// Element i depends on i alone. Floor: the result written once.
#include <complex>

#include "device/cpu/element.h"
#include "device/cpu/parallel.h"
#include "device/kernel.h"
#include "ops/creation/range_formula.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread

// The type positions are computed in.
template <class T>
using wide_t =
    std::conditional_t<is_complex_type<T>, complex128, std::conditional_t<is_float_type<T>, double, int64_t>>;

template <class T, class At>
void fill(const Operand& out, int64_t position, At at) {
  auto* to = out.as<stored_t<T>>();
  parallel_for(0, out.count(), kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
      if constexpr (is_complex_type<T>)
        to[i] = T(at(position + i));
      else
        to[i] = store<T>(at(position + i));
    }
  });
}

void range_kernel(KernelContext& k) {
  const auto& a = k.attrs<RangeAttrs>();
  dispatch_all(k.out().dtype, "arange", [&]<class T>() {
    using W = wide_t<T>;
    W start = a.start.to<W>(), step = a.step.to<W>();
    fill<T>(k.out(), a.first, [=](int64_t i) { return start + step * static_cast<W>(i); });
  });
}

void linspace_kernel(KernelContext& k) {
  const auto& a = k.attrs<LinspaceAttrs>();
  dispatch_all(k.out().dtype, "linspace", [&]<class T>() {
    using W = std::conditional_t<is_complex_type<T>, complex128, double>;
    auto round = [](W value) {
      if constexpr (is_half_type<T>)
        return static_cast<double>(static_cast<float>(T(static_cast<float>(value))));
      else
        return value;
    };
    auto line = line_of<T, W>(a, round);
    fill<T>(k.out(), a.first, [=](int64_t i) { return line.at(i, round); });
  });
}

void repeat_kernel(KernelContext& k) {
  const Operand& repeats = k.in(0);
  int64_t total = k.attrs<RepeatAttrs>().total, at = 0, *out = k.out().as<int64_t>();
  for (int64_t i = 0; i < repeats.size(0); i++) {
    int64_t count = repeats.as<int64_t>()[i * repeats.stride(0)];
    TW_CHECK(count >= 0, kRuntime, "repeat_interleave: repeats must not be negative, got ", count);
    TW_CHECK(count <= total - at, kRuntime, "repeat_interleave: repeats add up to more than ", total);
    std::fill_n(out + at, count, i);
    at += count;
  }
  TW_CHECK(at == total, kRuntime, "repeat_interleave: repeats add up to ", at, ", not to ", total);
}

}  // namespace

void kernels_range(KernelTable& table) {
  table.add("range_fill", range_kernel);
  table.add("linspace_fill", linspace_kernel);
  table.add("repeat_positions", repeat_kernel);
}

}  // namespace tw::ops
