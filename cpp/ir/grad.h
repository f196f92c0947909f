// What a gradient rule sees. It is written with ops (see emitter.h), so it serves eager mode, tracing and
// higher orders alike.
#pragma once

#include <span>

#include "ir/value.h"

namespace tw::ir {

class GradContext {
 public:
  virtual ~GradContext() = default;

  // Gradient of output `i`; null when nothing flows into it.
  virtual const Value& grad(int i = 0) const = 0;
  // The same, zeros of the output's shape where nothing flows in.
  virtual Value grad_or_zeros(int i) const = 0;
  // An input or output that the op said it saves; throws kInternal for one that was not. Null for an absent
  // input.
  virtual Value input(int i) const = 0;
  virtual Value output(int i = 0) const = 0;
  // Dtype and shape of any input or output, saved or not.
  virtual const Meta& input_meta(int i) const = 0;
  virtual const Meta& output_meta(int i = 0) const = 0;
  virtual int input_count() const = 0;
  // Does input `i` (flattened over lists) need its gradient? Rules skip the work where not.
  virtual bool needs(int i) const = 0;
  // Hands over the gradient of input `i`. It may have the shape that broadcasting gave: it is summed back to
  // the input's shape, and a complex gradient of a real input loses its imaginary part.
  virtual void set(int i, Value gradient) = 0;

  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(attributes);
  }
  const void* attributes = nullptr;
};

using GradFn = void (*)(GradContext&);

}  // namespace tw::ir
