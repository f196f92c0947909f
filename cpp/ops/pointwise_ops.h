// Makes kernels of the formulas that a family's list names, for the device whose loops it is given.
//
//   template <class Ops>  // at the end of smooth_formula.h
//   void add_smooth(Ops ops) {
//     using M = typename Ops::Functions;
//     ops.floats(name, SiluFormula<M>());            // of one, two or three operands
//     ops.template shaped_floats<EluFormula>(name);  // EluFormula<M, C>::of(attrs)
//   }
//
// A formula is called with compute_t of operands that are all of one dtype, which is the result's too unless
// it gives a bool. One of floats whose complex form is another function has F::of_complex(z), in double.
//
// Loops is CpuLoops (pointwise_ops_cpu.h) or CudaLoops (cuda/common/pointwise_ops.h):
//   Functions, Complex                elementary functions for formulas, the complex numbers of double
//   run<Out, In...>(k, f)             a pass over the operands
//   run_of_complex<F>(k)              the same of F::of_complex, where the result is complex
//   with_complex(dtype, k.op, body)   body<T>() for the T of a complex dtype
#pragma once

#include <type_traits>
#include <utility>

#include "device/kernel.h"

namespace tw::ops {

template <class T, class Result>
using result_dtype_t = std::conditional_t<std::is_same_v<Result, bool> || std::is_same_v<T, bool>, Result, T>;

template <class Loops, class T, class F>
void run_formula(device::KernelContext& k, const F& f) {
  using C = compute_t<T>;
  if constexpr (std::is_invocable_v<const F&, C>)
    Loops::template run<result_dtype_t<T, std::invoke_result_t<const F&, C>>, T>(k, f);
  else if constexpr (std::is_invocable_v<const F&, C, C>)
    Loops::template run<result_dtype_t<T, std::invoke_result_t<const F&, C, C>>, T, T>(k, f);
  else
    Loops::template run<T, T, T, T>(k, f);
}

// What of() makes of the op's attributes.
template <class F, class A>
F shaped_by(F (*of)(const A&), const device::KernelContext& k) {
  return of(k.attrs<A>());
}

template <class F, class Z>
concept HasComplexForm = requires(Z z) { F::of_complex(z); } || requires(Z z) { F::of_complex(z, z); };

template <class Loops, class F>
void floats_kernel(device::KernelContext& k) {
  if constexpr (HasComplexForm<F, typename Loops::Complex>)
    if (is_complex(k.out().dtype)) return Loops::template run_of_complex<F>(k);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() { run_formula<Loops, T>(k, F()); });
}

template <class Loops>
class PointwiseOps {
 public:
  using Functions = typename Loops::Functions;
  explicit PointwiseOps(device::KernelTable& table) : table_(table) {}

  template <class F>
  void floats(const char* op, F) {
    table_.add(op, floats_kernel<Loops, F>);
  }
  template <class F>
  void reals(const char* op, F) {
    table_.add(op, [](Context& k) { dispatch_real(k.in(0).dtype, k.op, pass<F>(k)); });
  }
  template <class F>
  void reals_and_bools(const char* op, F) {
    table_.add(op, [](Context& k) { dispatch_real_bool(k.in(0).dtype, k.op, pass<F>(k)); });
  }
  template <class F>
  void ints(const char* op, F) {
    table_.add(op, [](Context& k) { dispatch_int(k.in(0).dtype, k.op, pass<F>(k)); });
  }
  template <class F>
  void ints_and_bools(const char* op, F) {
    table_.add(op, [](Context& k) { dispatch_int_bool(k.in(0).dtype, k.op, pass<F>(k)); });
  }
  // Of formulas that are called with complex numbers, too.
  template <class F>
  void floats_and_complex(const char* op, F) {
    table_.add(op, [](Context& k) {
      if (is_complex(k.in(0).dtype)) return Loops::with_complex(k.in(0).dtype, k.op, pass<F>(k));
      dispatch_float(k.in(0).dtype, k.op, pass<F>(k));
    });
  }
  template <class F>
  void all(const char* op, F) {
    table_.add(op, [](Context& k) {
      if (is_complex(k.in(0).dtype)) return Loops::with_complex(k.in(0).dtype, k.op, pass<F>(k));
      dispatch_real_bool(k.in(0).dtype, k.op, pass<F>(k));
    });
  }

  // F<Functions, C>::of(attrs) is the formula.
  template <template <class, class> class F>
  void shaped_floats(const char* op) {
    table_.add(op, [](Context& k) { dispatch_float(k.in(0).dtype, k.op, shaped_pass<F>(k)); });
  }
  template <template <class, class> class F>
  void shaped_reals(const char* op) {
    table_.add(op, [](Context& k) { dispatch_real(k.in(0).dtype, k.op, shaped_pass<F>(k)); });
  }
  // F<T> has to know the dtype, not only what is computed in.
  template <template <class> class F>
  void typed_floats(const char* op) {
    table_.add(op, [](Context& k) {
      dispatch_float(k.in(0).dtype, k.op, [&k]<class T>() { run_formula<Loops, T>(k, F<T>()); });
    });
  }

 protected:
  using Context = device::KernelContext;

  template <class F>
  static auto pass(Context& k) {
    return [&k]<class T>() { run_formula<Loops, T>(k, F()); };
  }
  template <template <class, class> class F>
  static auto shaped_pass(Context& k) {
    return [&k]<class T>() { run_formula<Loops, T>(k, shaped_by(&F<Functions, compute_t<T>>::of, k)); };
  }

  device::KernelTable& table_;
};

}  // namespace tw::ops
