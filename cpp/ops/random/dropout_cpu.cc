// One pass: reads x, writes y and a byte an element; backward reads g and the mask, writes the gradient. The
// bits cost about 1 ns an element.
#include "ops/random/dropout.h"

#include <cmath>

#include "device/cpu/loops.h"
#include "device/cpu/parallel.h"
#include "ops/random_words.h"

namespace tw::ops {

using namespace device;

namespace {

// An element stays where its word is at least `threshold`.
template <class T, class C>
TW_CLONES __attribute__((flatten)) void drop(const uint32_t* words, int64_t n, uint32_t threshold, C scale,
                                             const T* in, T* out, uint8_t* mask) {
  for (int64_t i = 0; i < n; i++) {
    bool keep = words[i] >= threshold;
    C value = load<T>(in[i]) * scale;
    mask[i] = keep;
    out[i] = store<T>(keep ? value : C(0));
  }
}

void dropout_kernel(KernelContext& k) {
  const auto& a = k.attrs<DropoutAttrs>();
  const Operand &in = k.in(0), &out = k.out(0), &kept = k.out(1);
  double cut = std::nearbyint(a.p * 0x1p32);
  bool none = cut >= 0x1p32;  // p is 1, or rounds to it
  auto threshold = static_cast<uint32_t>(none ? 0 : static_cast<int64_t>(cut));
  double scale = none ? 0 : 1 / (1 - a.p);
  dispatch_float(out.dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (none) {
      nullary_loop<T>(out, [] { return C(0); });
      return nullary_loop<bool>(kept, [] { return false; });
    }
    random_chunks(*out.sizes, a.key, a.part, 1,
                  [&](const uint32_t* words, int64_t start, int64_t n, int64_t before) {
                    T buffer[kRandomWords];
                    uint8_t mask[kRandomWords];
                    const T* x = static_cast<const T*>(read_chunk(in, start, n, buffer));
                    words += before;
                    if (out.contiguous())
                      return drop<T, C>(words, n, threshold, static_cast<C>(scale), x, out.as<T>() + start,
                                        kept.as<uint8_t>() + start);
                    drop<T, C>(words, n, threshold, static_cast<C>(scale), x, buffer, mask);
                    write_chunk(out, start, n, buffer);
                    write_chunk(kept, start, n, mask);
                  });
  });
}

void dropout_backward_kernel(KernelContext& k) {
  double factor = k.attrs<DropoutBackwardAttrs>().scale;
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    C scale = static_cast<C>(factor);
    binary_loop<T, bool, T>(k, [scale](C g, bool keep) {
      C value = g * scale;
      return keep ? value : C(0);
    });
  });
}

}  // namespace

void kernels_dropout(KernelTable& table) {
  table.add("dropout_of", dropout_kernel);
  table.add("dropout_backward", dropout_backward_kernel);
}

}  // namespace tw::ops
