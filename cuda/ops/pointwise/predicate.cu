// isnan, isinf, isfinite, isposinf, isneginf, signbit. Bytes: an element read, one byte written; integers are
// not read. Floor: bytes over the bandwidth.
//
// Per element: 5 bytes and 1 operation (isnan, float32).
#include "cuda/common/pointwise_ops.h"
#include "ops/pointwise/predicate_formula.h"

namespace tw::cuda {

using device::KernelContext;

namespace {

struct Constant {
  bool value;
  TW_DEVICE bool operator()() const { return value; }
};

struct PredicateOps : PointwiseOps {
  using PointwiseOps::PointwiseOps;

  template <class F>
  static bool answer_integers(KernelContext& k) {
    if (kind_of(k.in(0).dtype) > DTypeKind::kInt) return false;
    pointwise_over(Types<bool>{}, Types<>{}, {&k.out()}, {}, k.op, Constant{F::kOfIntegers});
    return true;
  }
  template <class F>
  void predicates(const char* op, F) {
    table_.add(op, [](KernelContext& k) {
      if (!answer_integers<F>(k)) dispatch_float_or_complex(k.in(0).dtype, k.op, pass<F>(k));
    });
  }
  template <class F>
  void real_predicates(const char* op, F) {
    table_.add(op, [](KernelContext& k) {
      if (!answer_integers<F>(k)) dispatch_float(k.in(0).dtype, k.op, pass<F>(k));
    });
  }
};

}  // namespace

void kernels_predicate(device::KernelTable& table) { ops::add_predicate(PredicateOps(table)); }

}  // namespace tw::cuda
