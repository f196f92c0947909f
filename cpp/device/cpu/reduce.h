// Reductions over some dims of a strided operand. Results do not depend on the number of threads.
//
//   reduce_loop<T, float, T>(k.in(0), k.out(), mask, 0.0f, [](float a, float b) { return a + b; });
//
// The order is fixed by sizes and strides alone, in three steps:
//   1. The reduced elements of an output are cut into blocks (kSpan elements, or kRowsPerBlock rows).
//   2. A block is folded with many independent accumulators (so that it vectorises without reordering by the
//      compiler), and these pairwise into one.
//   3. The blocks are combined as the nodes of a binary counter: pairs of neighbours, pairs of pairs, and so
//   on.
// A sum of n numbers meets roundings on the order of 128 + log2(n), not n.
//
// Where the reduced dim is the denser one, each output reads its elements in runs ("spans"); where a kept dim
// is denser, a tile of neighbouring outputs is accumulated row by row. Threads share the outputs, or, when
// those are few, the blocks. Bytes read: the input once.
#pragma once

#include <cstdint>

#include "device/cpu/clones.h"
#include "device/cpu/element.h"
#include "device/kernel.h"

namespace tw::device {

// Bit d is set for each dim d in `dims` (already wrapped); all dims when the list is empty.
uint64_t reduce_mask(const Dims& dims, int64_t rank);

namespace detail {

// The typed parts of a reduction; `f` is the ReduceFunctions object.
struct ReduceParts {
  int in_size, acc_size, out_size;
  void (*identity)(const void* f, int64_t n, char* acc);
  // acc[j] = combine(acc[j], map(in[j]))
  void (*accumulate)(const void* f, int64_t n, char* acc, const char* in);
  // acc[j] = combine(acc[j], other[j])
  void (*merge)(const void* f, int64_t n, char* acc, const char* other);
  // acc[0] = map(in[0]) combined with map(in[1]) ... map(in[n - 1])
  void (*span)(const void* f, int64_t n, char* acc, const char* in);
  void (*finish)(const void* f, int64_t n, char* out, const char* acc);
};

void run_reduce(const ReduceParts& parts, const void* functions, const Operand& in, const Operand& out,
                uint64_t mask);

template <class Acc, class Combine, class Finish, class Map>
struct ReduceFunctions {
  Acc identity;
  Combine combine;
  Finish finish;
  Map map;
};

}  // namespace detail

namespace detail {

// Lanes [0, 16) folded pairwise.
template <class Acc, class Combine>
TW_INLINE Acc fold_lanes(Acc* lanes, Combine combine) {
  for (int l = 0; l < 8; l++) lanes[l] = combine(lanes[l], lanes[l + 8]);
  for (int l = 0; l < 4; l++) lanes[l] = combine(lanes[l], lanes[l + 4]);
  return combine(combine(lanes[0], lanes[2]), combine(lanes[1], lanes[3]));
}

// Elements from i on, fewer than 64 of them, in 16 lanes.
template <class Acc, class At, class Combine>
TW_INLINE void add_few(int64_t i, int64_t n, Acc* lanes, At at, Combine combine) {
  for (; i + 16 <= n; i += 16) {
    for (int l = 0; l < 16; l++) lanes[l] = combine(lanes[l], at(i + l));
  }
  for (int l = 0; i < n; i++, l++) lanes[l] = combine(lanes[l], at(i));
}

}  // namespace detail

struct NothingBetween {
  TW_INLINE void operator()(int64_t) const {}
};

// Folds at(0) ... at(n - 1) in the fixed order of step 2, for use in a loop under TW_CLONES. `n` should not
// exceed some thousands where the accuracy of sums matters. between(i) is called before each 64 elements.
template <class Acc, class At, class Combine, class Between = NothingBetween>
TW_INLINE Acc reduce_span(int64_t n, Acc identity, At at, Combine combine, Between between = {}) {
  if (n < 64) {
    Acc few[16];
    for (int l = 0; l < 16; l++) few[l] = identity;
    detail::add_few(0, n, few, at, combine);
    return detail::fold_lanes(few, combine);
  }
  Acc lanes[64];
  for (int l = 0; l < 64; l++) lanes[l] = identity;
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    between(i);
    for (int l = 0; l < 64; l++) lanes[l] = combine(lanes[l], at(i + l));
  }
  detail::add_few(i, n, lanes, at, combine);
  for (int l = 0; l < 32; l++) lanes[l] = combine(lanes[l], lanes[l + 32]);
  for (int l = 0; l < 16; l++) lanes[l] = combine(lanes[l], lanes[l + 16]);
  return detail::fold_lanes(lanes, combine);
}

namespace {

template <class In, class Acc, class F>
TW_CLONES __attribute__((flatten)) void reduce_accumulate(const void* functions, int64_t n, char* acc,
                                                          const char* in) {
  const F f = *static_cast<const F*>(functions);
  auto* sums = reinterpret_cast<Acc*>(acc);
  auto* values = reinterpret_cast<const stored_t<In>*>(in);
#pragma GCC ivdep
  for (int64_t j = 0; j < n; j++) sums[j] = f.combine(sums[j], f.map(load<In>(values[j])));
}

template <class In, class Acc, class F>
TW_CLONES __attribute__((flatten)) void reduce_one_span(const void* functions, int64_t n, char* acc,
                                                        const char* in) {
  const F f = *static_cast<const F*>(functions);
  auto* values = reinterpret_cast<const stored_t<In>*>(in);
  *reinterpret_cast<Acc*>(acc) =
      reduce_span(n, f.identity, [&](int64_t i) { return Acc(f.map(load<In>(values[i]))); }, f.combine);
}

template <class Acc, class F>
void reduce_identity(const void* functions, int64_t n, char* acc) {
  const F& f = *static_cast<const F*>(functions);
  for (int64_t j = 0; j < n; j++) reinterpret_cast<Acc*>(acc)[j] = f.identity;
}

template <class Acc, class F>
void reduce_merge(const void* functions, int64_t n, char* acc, const char* other) {
  const F f = *static_cast<const F*>(functions);
  auto* sums = reinterpret_cast<Acc*>(acc);
  auto* others = reinterpret_cast<const Acc*>(other);
#pragma GCC ivdep
  for (int64_t j = 0; j < n; j++) sums[j] = f.combine(sums[j], others[j]);
}

template <class Acc, class Out, class F>
void reduce_finish(const void* functions, int64_t n, char* out, const char* acc) {
  const F f = *static_cast<const F*>(functions);
  auto* sums = reinterpret_cast<const Acc*>(acc);
#pragma GCC ivdep
  for (int64_t j = 0; j < n; j++) reinterpret_cast<stored_t<Out>*>(out)[j] = store<Out>(f.finish(sums[j]));
}

}  // namespace

// out = finish(combine of map(x) over the dims whose bit is set in `mask`); finish(identity) where there are
// none. `out` keeps reduced dims with size 1, or lacks them. combine must be associative up to rounding, and
// combine(identity, a) = a; it may be a struct of several values. map takes compute_t<In> and gives Acc.
template <class In, class Acc, class Out, class Combine, class Finish, class Map>
void reduce_loop(const Operand& in, const Operand& out, uint64_t mask, Acc identity, Combine combine,
                 Finish finish, Map map) {
  using F = detail::ReduceFunctions<Acc, Combine, Finish, Map>;
  static constexpr detail::ReduceParts parts = {sizeof(stored_t<In>),          sizeof(Acc),
                                                sizeof(stored_t<Out>),         reduce_identity<Acc, F>,
                                                reduce_accumulate<In, Acc, F>, reduce_merge<Acc, F>,
                                                reduce_one_span<In, Acc, F>,   reduce_finish<Acc, Out, F>};
  F functions{identity, combine, finish, map};
  detail::run_reduce(parts, &functions, in, out, mask);
}

template <class In, class Acc, class Out, class Combine, class Finish>
void reduce_loop(const Operand& in, const Operand& out, uint64_t mask, Acc identity, Combine combine,
                 Finish finish) {
  reduce_loop<In, Acc, Out>(in, out, mask, identity, combine, finish,
                            [](compute_t<In> value) { return static_cast<Acc>(value); });
}

template <class In, class Acc, class Out, class Combine>
void reduce_loop(const Operand& in, const Operand& out, uint64_t mask, Acc identity, Combine combine) {
  reduce_loop<In, Acc, Out>(in, out, mask, identity, combine, [](Acc total) { return total; });
}

}  // namespace tw::device
