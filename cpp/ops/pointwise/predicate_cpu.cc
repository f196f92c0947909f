// One pass; integers have no special values, their answer is written without reading them.
#include "ops/pointwise/predicate_formula.h"
#include "ops/pointwise_ops_cpu.h"

namespace tw::ops {

using namespace device;

namespace {

struct PredicateOps : PointwiseOps<CpuLoops> {
  using PointwiseOps::PointwiseOps;

  template <class F>
  static bool answer_integers(KernelContext& k) {
    if (kind_of(k.in(0).dtype) > DTypeKind::kInt) return false;
    nullary_loop<bool>(k.out(), [] { return F::kOfIntegers; });
    return true;
  }
  template <class F>
  void predicates(const char* op, F) {
    table_.add(op, [](KernelContext& k) {
      if (!answer_integers<F>(k)) dispatch_float_complex(k.in(0).dtype, k.op, pass<F>(k));
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

void kernels_predicate(KernelTable& table) { add_predicate(PredicateOps(table)); }

}  // namespace tw::ops
