// Pointwise kernels: a function of elements over strided, broadcast operands; what device/cpu/loops.h is to
// the CPU.
//
//   pointwise<T, T>(k, Negative{});                         // unary: In, Out
//   pointwise<T, T, bool>(k, Less{});                       // binary: A, B, Out
//   pointwise_over(Types<T, T>{}, Types<T>{}, {&out0, &out1}, {&x}, "gelu_with_slope", WithSlope{});
//
// The function is a struct with a TW_DEVICE call operator. It gets compute_t<T> of each input (float for the
// half types, bool for bool), its result is rounded to the output's type, and its members are copied to the
// device. Outputs have the broadcast sizes; an output may be the memory of an input that has its sizes and
// strides.
//
// Each thread takes kPacks packs of the innermost dim, all read before the first is written, each as accesses
// of 16 bytes of the widest operand; operands that do not lie so go element by element. Bytes moved: those of
// the operands, each once, and the floor is these over the bandwidth of the memory.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "cuda/common/vector.h"
#include "cuda/common/walk.h"

namespace tw::cuda {

template <class... T>
struct Types {
  static constexpr int count = sizeof...(T);
};

inline constexpr int kPointwiseThreads = block_threads(256);
inline constexpr int kPacks = 2;

// What a function with two outputs returns.
template <class A, class B>
struct Pair {
  A first;
  B second;
};

// A pack of each operand.
template <int kPack, class... T>
struct PackList {};
template <int kPack, class T, class... Rest>
struct PackList<kPack, T, Rest...> {
  Pack<stored_t<T>, kPack> first;
  PackList<kPack, Rest...> rest;
};

template <int kIndex, int kPack, class T, class... Rest>
TW_DEVICE auto& pack_of(PackList<kPack, T, Rest...>& list) {
  if constexpr (kIndex == 0)
    return list.first;
  else
    return pack_of<kIndex - 1>(list.rest);
}

template <class T, int kPack>
TW_DEVICE void read_pack(Pack<stored_t<T>, kPack>& pack, const char* from, bool fixed) {
  auto* at = reinterpret_cast<const stored_t<T>*>(from);
  if (!fixed) {
    pack = load_pack<kPack>(at);
    return;
  }
  stored_t<T> only = *at;
  TW_UNROLL
  for (int j = 0; j < kPack; j++) pack.at[j] = only;
}

template <class F, class Outs, class Ins>
struct PointwisePass;

// What one thread does, with everything that depends on the types.
template <class F, class... Out, class... In>
struct PointwisePass<F, Types<Out...>, Types<In...>> {
  static constexpr int kOuts = sizeof...(Out), kOperands = kOuts + static_cast<int>(sizeof...(In));

  template <int kPack, int... I>
  TW_DEVICE static void read(PackList<kPack, In...>& in, const Walk<kOperands>& walk, const int64_t* at,
                             std::integer_sequence<int, I...>) {
    (read_pack<In>(pack_of<I>(in), walk.data[kOuts + I] + at[kOuts + I], walk.fixed >> (kOuts + I) & 1), ...);
  }

  // Element j of the outputs.
  template <int kPack, int... I>
  TW_DEVICE static void compute(const F& f, PackList<kPack, In...>& in, PackList<kPack, Out...>& out, int j,
                                std::integer_sequence<int, I...>) {
    auto result = f(load<In>(pack_of<I>(in).at[j])...);
    if constexpr (kOuts == 1) {
      set<0>(out, j, result);
    } else {
      set<0>(out, j, result.first);
      set<1>(out, j, result.second);
    }
  }
  template <int kIndex, int kPack, class Value>
  TW_DEVICE static void set(PackList<kPack, Out...>& out, int j, Value value) {
    using T = std::tuple_element_t<kIndex, std::tuple<Out...>>;
    pack_of<kIndex>(out).at[j] = store<T>(value);
  }

  template <int kPack, int... O>
  TW_DEVICE static void write(PackList<kPack, Out...>& out, const Walk<kOperands>& walk, const int64_t* at,
                              std::integer_sequence<int, O...>) {
    (store_pack(reinterpret_cast<stored_t<Out>*>(walk.data[O] + at[O]), pack_of<O>(out)), ...);
  }

  // A pack that is not full, element by element.
  template <int kPack, int... I, int... O>
  TW_DEVICE static void run_tail(const F& f, const Walk<kOperands>& walk, const int64_t* at,
                                 std::integer_sequence<int, I...> ins, std::integer_sequence<int, O...>) {
    for (int j = 0; j < walk.tail; j++) {
      PackList<1, In...> in;
      PackList<1, Out...> out;
      ((pack_of<I>(in).at[0] = reinterpret_cast<const stored_t<In>*>(
            walk.data[kOuts + I] + at[kOuts + I])[walk.fixed >> (kOuts + I) & 1 ? 0 : j]),
       ...);
      compute(f, in, out, 0, ins);
      ((reinterpret_cast<stored_t<Out>*>(walk.data[O] + at[O])[j] = pack_of<O>(out).at[0]), ...);
    }
  }

  template <int kPack>
  TW_DEVICE static void run(const F& f, const Walk<kOperands>& walk) {
    constexpr auto kInputs = std::make_integer_sequence<int, static_cast<int>(sizeof...(In))>();
    constexpr auto kOutputs = std::make_integer_sequence<int, kOuts>();
    int64_t first = static_cast<int64_t>(blockIdx.x) * kPacks * blockDim.x + threadIdx.x;
    int64_t full = walk.steps - (kPack > 1 && walk.tail ? 1 : 0);
    int64_t at[kPacks][kOperands];
    PackList<kPack, In...> in[kPacks];
    TW_UNROLL
    for (int p = 0; p < kPacks; p++) {
      int64_t step = first + p * static_cast<int64_t>(blockDim.x);
      if (step >= full) continue;
      walk.offsets(step, at[p]);
      read(in[p], walk, at[p], kInputs);
    }
    TW_UNROLL
    for (int p = 0; p < kPacks; p++) {
      int64_t step = first + p * static_cast<int64_t>(blockDim.x);
      if (step < full) {
        PackList<kPack, Out...> out;
        TW_UNROLL
        for (int j = 0; j < kPack; j++) compute(f, in[p], out, j, kInputs);
        write(out, walk, at[p], kOutputs);
      } else if (kPack > 1 && step < walk.steps) {
        walk.offsets(step, at[p]);
        run_tail<kPack>(f, walk, at[p], kInputs, kOutputs);
      }
    }
  }
};

template <int kPack, class F, class Outs, class Ins>
__global__ void __launch_bounds__(kPointwiseThreads)
    pointwise_kernel(F f, Walk<Outs::count + Ins::count> walk) {
  PointwisePass<F, Outs, Ins>::template run<kPack>(f, walk);
}

// The general form: one or two outputs (the function then returns a Pair).
template <class... Out, class... In, class F>
void pointwise_over(Types<Out...>, Types<In...>, std::array<const device::Operand*, sizeof...(Out)> outs,
                    std::array<const device::Operand*, sizeof...(In)> ins, const char* op, const F& f) {
  constexpr int kOperands = sizeof...(Out) + sizeof...(In);
  constexpr int kWidest =
      std::max({static_cast<int>(sizeof(stored_t<Out>))..., static_cast<int>(sizeof(stored_t<In>))...});
  constexpr int kPack = pack_count(kWidest);
  if (outs[0]->count() == 0) return;
  const device::Operand* operands[kOperands];
  int count = 0;
  for (const device::Operand* out : outs) operands[count++] = out;
  for (const device::Operand* in : ins) operands[count++] = in;
  Walk<kOperands> walk;
  for (int o = 0; o < kOperands; o++) walk.data[o] = static_cast<char*>(operands[o]->data);
  MergedDims dims = merge_dims(*outs[0]->sizes, operands);
  constexpr int kBytes[] = {sizeof(stored_t<Out>)..., sizeof(stored_t<In>)...};
  bool packed = kPack > 1 && make_walk(dims, kPack, kBytes, op, &walk);
  if (!packed) make_walk(dims, 1, kBytes, op, &walk);
  int64_t blocks = (walk.steps + kPointwiseThreads * kPacks - 1) / (kPointwiseThreads * kPacks);
  auto kernel = packed ? pointwise_kernel<kPack, F, Types<Out...>, Types<In...>>
                       : pointwise_kernel<1, F, Types<Out...>, Types<In...>>;
  launch(op, kernel, {static_cast<unsigned>(blocks), kPointwiseThreads}, f, walk);
}

template <class In, class Out, class F>
void pointwise(device::KernelContext& k, const F& f) {
  pointwise_over(Types<Out>{}, Types<In>{}, {&k.out()}, {&k.in(0)}, k.op, f);
}

template <class A, class B, class Out, class F>
void pointwise(device::KernelContext& k, const F& f) {
  pointwise_over(Types<Out>{}, Types<A, B>{}, {&k.out()}, {&k.in(0), &k.in(1)}, k.op, f);
}

template <class A, class B, class C, class Out, class F>
void pointwise(device::KernelContext& k, const F& f) {
  pointwise_over(Types<Out>{}, Types<A, B, C>{}, {&k.out()}, {&k.in(0), &k.in(1), &k.in(2)}, k.op, f);
}

}  // namespace tw::cuda
