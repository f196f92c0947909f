// One pass: reads x, writes y and a byte an element; backward reads g and the mask, writes the gradient. The
// bits cost about 1 ns an element.
#include "ops/random/dropout.h"

#include "device/cpu/loops.h"
#include "device/cpu/parallel.h"
#include "ops/random/dropout_formula.h"
#include "ops/random_words.h"

namespace tw::ops {

using namespace device;

namespace {

template <class T, class C>
TW_CLONES __attribute__((flatten)) void drop(const uint32_t* words, int64_t n, DropoutFormula formula,
                                             C scale, const T* in, T* out, uint8_t* mask) {
  for (int64_t i = 0; i < n; i++) {
    bool keep = formula.keeps(words[i]);
    mask[i] = keep;
    out[i] = store<T>(KeepScaledFormula<C>{scale}(load<T>(in[i]), keep));
  }
}

void dropout_kernel(KernelContext& k) {
  const auto& a = k.attrs<DropoutAttrs>();
  const Operand &in = k.in(0), &out = k.out(0), &kept = k.out(1);
  auto formula = DropoutFormula::of(a.p);
  dispatch_float(out.dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    if (formula.none) {
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
                      return drop<T, C>(words, n, formula, static_cast<C>(formula.scale), x,
                                        out.as<T>() + start, kept.as<uint8_t>() + start);
                    drop<T, C>(words, n, formula, static_cast<C>(formula.scale), x, buffer, mask);
                    write_chunk(out, start, n, buffer);
                    write_chunk(kept, start, n, mask);
                  });
  });
}

void dropout_backward_kernel(KernelContext& k) {
  double scale = k.attrs<DropoutBackwardAttrs>().scale;
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    binary_loop<T, bool, T>(k, KeepScaledFormula<C>{static_cast<C>(scale)});
  });
}

}  // namespace

void kernels_dropout(KernelTable& table) {
  table.add("dropout_of", dropout_kernel);
  table.add("dropout_backward", dropout_backward_kernel);
}

}  // namespace tw::ops
