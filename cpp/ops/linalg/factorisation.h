// What the definitions of matrix factorisations share: checks, SBP, and small steps on batches of matrices.
#pragma once

#include "ops/linalg/product.h"

namespace tw::ops {

inline void check_matrices(const ir::ValueImpl& a, const char* op) {
  TW_CHECK(a.rank() >= 2, kRuntime, op, ": a matrix or a batch of matrices is wanted, got shape ", a.sizes);
  TW_CHECK(a.dtype == DType::kFloat32 || a.dtype == DType::kFloat64 || is_complex(a.dtype), kRuntime, op,
           ": float32, float64, complex64 or complex128 is wanted, got ", a.dtype);
}

inline void check_square(const ir::ValueImpl& a, const char* op) {
  check_matrices(a, op);
  TW_CHECK(a.size(-1) == a.size(-2), kRuntime, op, ": square matrices are wanted, got shape ", a.sizes);
}

inline Dims batch_sizes(const Dims& sizes) { return Dims(sizes.begin(), sizes.end() - 2); }

// The batch's sizes, then these.
inline Dims with_last(const Dims& sizes, std::initializer_list<int64_t> last) {
  Dims result = batch_sizes(sizes);
  for (int64_t size : last) result.push_back(size);
  return result;
}

// Every matrix is a problem of its own: any dim of the batch may be split, the same for all operands.
inline void sbp_of_batch(sbp::RuleContext& c) {
  for (int64_t dim = 0; dim + 2 < static_cast<int64_t>(c.inputs[0].size()); dim++)
    c.add({std::vector(c.inputs.size(), sbp::split(dim)), std::vector(c.outputs.size(), sbp::split(dim))});
}

// kFlops · m · n · min(m, n) for each matrix of input 0.
template <int kFlops>
ir::Cost factorisation_cost(const ir::CostContext& c) {
  const Dims& sizes = c.inputs[0].sizes;
  auto small = static_cast<double>(std::min(sizes[sizes.size() - 1], sizes[sizes.size() - 2]));
  return {kFlops * c.input_count() * small, c.bytes(), 2 * c.bytes()};
}

inline ir::Value product(const ir::Value& a, const ir::Value& b) { return ir::op<"broadcast_mm">(a, b); }
inline ir::Value as_column(const ir::Value& v) { return ir::op<"unsqueeze">(v, -1); }
inline ir::Value as_row(const ir::Value& v) { return ir::op<"unsqueeze">(v, -2); }
inline ir::Value identity(int64_t n, DType dtype) {
  return ir::op<"tril">(ir::op<"triu">(ir::op<"full">(IntList{n, n}, 1, dtype)));
}
inline ir::Value first_of(const ir::Value& x, int64_t dim, int64_t count) {
  return x->size(dim) == count ? x : ir::op<"slice">(x, dim, 0, count, 1);
}

}  // namespace tw::ops
