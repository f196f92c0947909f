// The norm reads each element once and adds in double, chunk by chunk in the order of the chunks. Clipping by
// a factor of 1 touches nothing.
#include <algorithm>
#include <vector>

#include "device/cpu/cast.h"
#include "device/cpu/math_functions.h"
#include "device/cpu/reduce.h"
#include "device/cpu/tensor_lists.h"
#include "ops/optim/clipping.h"
#include "ops/optim/clipping_formula.h"
#include "ops/pointwise/predicate_formula.h"
#include "ops/reduction/norm_formula.h"

namespace tw::ops {

using namespace device;

namespace {

template <class Order>
using Norm = NormFormula<math::Functions, double, Order>;

template <class T, class Order>
TW_CLONES __attribute__((flatten)) double norm_leaf(int64_t n, const void* data, Norm<Order> norm) {
  auto* values = static_cast<const T*>(data);
  return reduce_span(
      n, norm.none(), [&](int64_t i) { return norm.map(static_cast<double>(values[i])); },
      [&](double a, double b) { return norm.combine(a, b); });
}

// What every chunk's elements combine to.
template <class Order>
std::vector<double> by_chunk(const KernelContext& k, const TensorLists& walk, Norm<Order> norm) {
  std::vector<double> result(walk.chunks());
  walk.run(0, [&](const TensorLists::Chunk& chunk, void* const* data) {
    dispatch_full_float(walk.compute_dtype(chunk.tuple), k.op, [&]<class T>() {
      result[chunk.number] = norm_leaf<T, Order>(chunk.count, data[0], norm);
    });
  });
  return result;
}

double total_norm(const KernelContext& k, const TensorLists& walk, double p) {
  return dispatch_norm_order(p, [&](auto order) {
    auto norm = Norm<decltype(order)>::of(p, order);
    std::vector<double> parts = by_chunk(k, walk, norm);
    double total = norm.none();
    if (order != NormOrder::kZero) {
      for (double part : parts) total = norm.combine(total, part);
      return norm.finish(total);
    }
    for (int i = 0; i < walk.tuples(); i++)  // of order 0, of the tensors' norms
      total += std::any_of(parts.begin() + walk.first_chunk(i), parts.begin() + walk.first_chunk(i + 1),
                           [](double part) { return part != 0; });
    return total;
  });
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

// Scales, and returns whether all was finite.
template <class T>
TW_CLONES bool unscale_leaf(int64_t n, T factor, void* data) {
  auto* values = static_cast<T*>(data);
  unsigned bad = 0;
  for (int64_t i = 0; i < n; i++) {
    bad |= !IsFiniteFormula()(values[i]);
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
  double factor = clip_factor(k.attrs<ClipAttrs>().max_norm, norm);
  if (!clips(factor)) return;
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
