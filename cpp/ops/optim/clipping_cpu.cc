// The norm reads each element once and adds in double, chunk by chunk in the order of the chunks. Clipping by
// a factor of 1 touches nothing.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/cpu/cast.h"
#include "device/cpu/reduce.h"
#include "device/cpu/tensor_lists.h"
#include "ops/optim/clipping.h"

namespace tw::ops {

using namespace device;

namespace {

struct AddAll {
  TW_INLINE double operator()(double a, double b) const { return a + b; }
};
// NaN wins.
struct Largest {
  TW_INLINE double operator()(double a, double b) const { return (b > a) | (b != b) ? b : a; }
};
struct Smallest {
  TW_INLINE double operator()(double a, double b) const { return (b < a) | (b != b) ? b : a; }
};

struct Square {
  TW_INLINE double operator()(double x) const { return x * x; }
};
struct Size {
  TW_INLINE double operator()(double x) const { return std::fabs(x); }
};
struct NotZero {
  TW_INLINE double operator()(double x) const { return x != 0; }
};
struct Power {
  double p;
  double operator()(double x) const { return std::pow(std::fabs(x), p); }
};

template <class T, class Map, class Combine>
TW_CLONES __attribute__((flatten)) double norm_leaf(int64_t n, const void* data, Map map, Combine combine,
                                                    double identity) {
  auto* values = static_cast<const T*>(data);
  return reduce_span(n, identity, [&](int64_t i) { return map(static_cast<double>(values[i])); }, combine);
}

// combine(map(x)) of every chunk.
template <class Map, class Combine>
std::vector<double> by_chunk(const KernelContext& k, const TensorLists& walk, Map map, Combine combine,
                             double identity) {
  std::vector<double> result(walk.chunks());
  walk.run(0, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(walk.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      result[chunk.number] = norm_leaf<T>(chunk.count, data[0], map, combine, identity);
    });
  });
  return result;
}

template <class Map, class Combine>
double over_all(const KernelContext& k, const TensorLists& walk, Map map, Combine combine, double identity) {
  double total = identity;
  for (double part : by_chunk(k, walk, map, combine, identity)) total = combine(total, part);
  return total;
}

double tensors_not_zero(const KernelContext& k, const TensorLists& walk) {
  std::vector<double> parts = by_chunk(k, walk, NotZero{}, Largest{}, 0);
  double count = 0;
  for (int i = 0; i < walk.tuples(); i++)
    count += std::any_of(parts.begin() + walk.first_chunk(i), parts.begin() + walk.first_chunk(i + 1),
                         [](double part) { return part != 0; });
  return count;
}

double total_norm(const KernelContext& k, const TensorLists& walk, double p) {
  if (p == 0) return tensors_not_zero(k, walk);
  if (p == 1) return over_all(k, walk, Size{}, AddAll{}, 0);
  if (p == 2) return std::sqrt(over_all(k, walk, Square{}, AddAll{}, 0));
  if (p == INFINITY) return over_all(k, walk, Size{}, Largest{}, 0);
  if (p == -INFINITY) return over_all(k, walk, Size{}, Smallest{}, INFINITY);
  return std::pow(over_all(k, walk, Power{p}, AddAll{}, 0), 1 / p);
}

void norm_kernel(KernelContext& k) {
  const std::span<const Operand> lists[] = {k.inputs};
  double total = total_norm(k, TensorLists(lists), k.attrs<NormAttrs>().p);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { *k.out().as<T>() = store<T>(total); });
}

template <class T>
TW_CLONES void scale_leaf(int64_t n, T factor, void* data) {
  auto* values = static_cast<T*>(data);
  for (int64_t i = 0; i < n; i++) values[i] *= factor;
}

// Scales, and returns whether all was finite: x - x is 0 for finite x alone.
template <class T>
TW_CLONES bool unscale_leaf(int64_t n, T factor, void* data) {
  auto* values = static_cast<T*>(data);
  unsigned bad = 0;
  for (int64_t i = 0; i < n; i++) {
    bad |= !(values[i] - values[i] == 0);
    values[i] *= factor;
  }
  return bad == 0;
}

double number_in(const Operand& operand, const char* op) {
  return dispatch_float(operand.dtype, op,
                        [&]<class T>() { return static_cast<double>(load<T>(*operand.as<T>())); });
}

void clip_kernel(KernelContext& k) {
  double norm = number_in(k.list(1)[0], k.op);
  double factor = k.attrs<ClipAttrs>().max_norm / (norm + 1e-6);
  if (factor >= 1) return;
  const std::span<const Operand> lists[] = {k.list(0)};
  TensorLists walk(lists);
  walk.run(1, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(walk.compute_dtype(chunk.tuple), k.op,
                        [&]<class T>() { scale_leaf(chunk.count, T(factor), data[0]); });
  });
}

void unscale_kernel(KernelContext& k) {
  double factor = k.attrs<UnscaleAttrs>().factor;
  const std::span<const Operand> lists[] = {k.list(0)};
  TensorLists walk(lists);
  std::vector<uint8_t> finite(walk.chunks());
  walk.run(1, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(walk.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      finite[chunk.number] = unscale_leaf(chunk.count, T(factor), data[0]);
    });
  });
  if (std::find(finite.begin(), finite.end(), 0) != finite.end()) *k.list(1)[0].as<bool>() = true;
}

}  // namespace

void kernels_clipping(KernelTable& table) {
  table.add("multi_tensor_norm", norm_kernel);
  table.add("multi_tensor_clip", clip_kernel);
  table.add("multi_tensor_unscale", unscale_kernel);
}

}  // namespace tw::ops
