// Pointwise kernels: a function of elements applied over strided, broadcast operands.
//
//   unary_loop<float, float>(k, [](float x) { return x < 0 ? 0 : x; });
//   binary_loop<T, T, bool>(k, [](compute_t<T> a, compute_t<T> b) { return a < b; });
//   pointwise_loop(Types<T, T>{}, Types<T, T, T>{}, {&out0, &out1}, {&a, &b, &c}, [](...) { return
//   std::pair(u, v); });
//
// Outputs have the broadcast sizes. Inputs may have fewer dims, or size 1 where the output has more. An
// output may be the same memory as an input if both have the same sizes, strides and element size; other
// overlaps are the caller's error. The function gets compute_t<T> of each input (float for the half types,
// bool for bool) and its results are converted to the output types. It must be small enough to inline, call
// nothing that is not inlined (or be content with scalar speed), and capture by value.
//
// One loop is compiled per function and set of types: over contiguous memory, vectorised under TW_CLONES.
// Operands that do not lie contiguously where it matters pass through buffers of kBlock elements in the
// first-level cache; a scalar operand fills its buffer once. Bytes moved: those of the operands.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "device/cpu/clones.h"
#include "device/cpu/element.h"
#include "device/kernel.h"

namespace tw::device {

template <class... T>
struct Types {
  static constexpr int count = sizeof...(T);
};

namespace detail {

inline constexpr int kMaxOperands = 8;

// Works on `n` elements; data[i] is contiguous memory of operand i, outputs first.
using PointwiseLeaf = void (*)(const void* function, int64_t n, char* const* data);

struct PointwiseLoop {
  PointwiseLeaf leaf;
  int outputs;
  int count;      // operands
  int64_t grain;  // elements that are worth a thread
  uint8_t element_size[kMaxOperands];
};

// What moves through a core in some ten microseconds.
inline constexpr int64_t kGrainBytes = 192 << 10;

void run_pointwise(const PointwiseLoop& loop, const void* function, const Operand* const* operands);

// A function may name arguments that its vectorised form does not hold for: f.special(x...), computed by
// f.slow(x...).
template <class F, class... In>
concept HasSpecial = requires(const F& f, compute_t<In>... in) {
  f.special(in...);
  f.slow(in...);
};

template <class F, class Out, class... In>
TW_INLINE void one_output(int64_t n, F f, stored_t<Out>* out, const stored_t<In>*... in) {
  // An output may be an input, but element i is read before it is written: no dependence between iterations.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) out[i] = store<Out>(f(load<In>(in[i])...));
}

template <class F, class Out, class... In>
TW_INLINE void one_output_special(int64_t n, F f, stored_t<Out>* out, const stored_t<In>*... in) {
  constexpr int64_t kChunk = 512;
  for (int64_t first = 0; first < n; first += kChunk) {
    int64_t last = first + kChunk < n ? first + kChunk : n;
    unsigned any = 0;
    for (int64_t i = first; i < last; i++) any |= f.special(load<In>(in[i])...);
    if (!any) {
#pragma GCC ivdep
      for (int64_t i = first; i < last; i++) out[i] = store<Out>(f(load<In>(in[i])...));
      continue;
    }
    for (int64_t i = first; i < last; i++)
      out[i] = store<Out>(f.special(load<In>(in[i])...) ? f.slow(load<In>(in[i])...) : f(load<In>(in[i])...));
  }
}

template <class F, class Out0, class Out1, class... In>
TW_INLINE void two_outputs(int64_t n, F f, stored_t<Out0>* out0, stored_t<Out1>* out1,
                           const stored_t<In>*... in) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    auto result = f(load<In>(in[i])...);
    out0[i] = store<Out0>(result.first);
    out1[i] = store<Out1>(result.second);
  }
}

}  // namespace detail

namespace {

template <class F, class Out, class... In, size_t... I>
TW_INLINE void call_leaf(int64_t n, const F& f, char* const* data, Types<Out>, Types<In...>,
                         std::index_sequence<I...>) {
  auto* out = reinterpret_cast<stored_t<Out>*>(data[0]);
  if constexpr (detail::HasSpecial<F, In...>)
    detail::one_output_special<F, Out, In...>(n, f, out,
                                              reinterpret_cast<const stored_t<In>*>(data[1 + I])...);
  else
    detail::one_output<F, Out, In...>(n, f, out, reinterpret_cast<const stored_t<In>*>(data[1 + I])...);
}

template <class F, class Out0, class Out1, class... In, size_t... I>
TW_INLINE void call_leaf(int64_t n, const F& f, char* const* data, Types<Out0, Out1>, Types<In...>,
                         std::index_sequence<I...>) {
  detail::two_outputs<F, Out0, Out1, In...>(n, f, reinterpret_cast<stored_t<Out0>*>(data[0]),
                                            reinterpret_cast<stored_t<Out1>*>(data[1]),
                                            reinterpret_cast<const stored_t<In>*>(data[2 + I])...);
}

// In an unnamed namespace, as TW_CLONES wants.
template <class F, class Outs, class Ins>
TW_CLONES __attribute__((flatten)) void pointwise_leaf(const void* function, int64_t n, char* const* data) {
  call_leaf(n, *static_cast<const F*>(function), data, Outs{}, Ins{}, std::make_index_sequence<Ins::count>{});
}

}  // namespace

// The general form: one or two outputs (the function then returns a std::pair), up to six inputs.
template <class... Out, class... In, class F>
void pointwise_loop(Types<Out...>, Types<In...>, std::array<const Operand*, sizeof...(Out)> outs,
                    std::array<const Operand*, sizeof...(In)> ins, const F& f) {
  static_assert(sizeof...(Out) == 1 || sizeof...(Out) == 2);
  static_assert(sizeof...(Out) + sizeof...(In) <= detail::kMaxOperands);
  constexpr int64_t bytes_in = (int64_t{0} + ... + sizeof(stored_t<In>));
  static constexpr detail::PointwiseLoop loop = {
      pointwise_leaf<F, Types<Out...>, Types<In...>>,
      sizeof...(Out),
      sizeof...(Out) + sizeof...(In),
      detail::kGrainBytes / (bytes_in + ... + sizeof(stored_t<Out>)),
      {sizeof(stored_t<Out>)..., sizeof(stored_t<In>)...}};
  const Operand* operands[sizeof...(Out) + sizeof...(In)];
  int count = 0;
  for (const Operand* out : outs) operands[count++] = out;
  for (const Operand* in : ins) operands[count++] = in;
  detail::run_pointwise(loop, &f, operands);
}

template <class Out, class F>
void nullary_loop(const Operand& out, const F& f) {
  pointwise_loop(Types<Out>{}, Types<>{}, {&out}, {}, f);
}

template <class In, class Out, class F>
void unary_loop(const Operand& out, const Operand& in, const F& f) {
  pointwise_loop(Types<Out>{}, Types<In>{}, {&out}, {&in}, f);
}

template <class A, class B, class Out, class F>
void binary_loop(const Operand& out, const Operand& a, const Operand& b, const F& f) {
  pointwise_loop(Types<Out>{}, Types<A, B>{}, {&out}, {&a, &b}, f);
}

template <class A, class B, class C, class Out, class F>
void ternary_loop(const Operand& out, const Operand& a, const Operand& b, const Operand& c, const F& f) {
  pointwise_loop(Types<Out>{}, Types<A, B, C>{}, {&out}, {&a, &b, &c}, f);
}

template <class In, class Out, class F>
void unary_loop(KernelContext& k, const F& f) {
  unary_loop<In, Out>(k.out(), k.in(0), f);
}

template <class A, class B, class Out, class F>
void binary_loop(KernelContext& k, const F& f) {
  binary_loop<A, B, Out>(k.out(), k.in(0), k.in(1), f);
}

template <class A, class B, class C, class Out, class F>
void ternary_loop(KernelContext& k, const F& f) {
  ternary_loop<A, B, C, Out>(k.out(), k.in(0), k.in(1), k.in(2), f);
}

}  // namespace tw::device
