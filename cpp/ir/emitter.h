// How gradients, composites and optimizers apply ops: op<"mul">(a, b). Eager mode launches, the tracer
// records.
//
// Arguments come in the schema's order, tensors and attributes alike; trailing ones may be left to their
// defaults. Numbers may stand for tensors where an op allows it.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>

#include "ir/op_def.h"
#include "ir/registry.h"

namespace tw::ir {

class Emitter {
 public:
  virtual ~Emitter() = default;
  // Applies `def` to inputs in schema order (lists flattened, null for absent ones); `starts` as in
  // KernelContext, empty for ops without lists. `attrs` may be changed (a random key is filled in).
  virtual void apply(const OpDef& def, std::span<const Value> inputs, std::span<const int> starts,
                     void* attrs, Values* outputs) = 0;
  // A 0-dim value that ranks as a Python number in promotion.
  virtual Value number(const Scalar& value) = 0;

  static Emitter& current();  // of this thread
  static void set_default(Emitter* emitter);
  static Emitter* swap_current(Emitter* emitter);  // null: back to the default; returns the one before
};

// One argument of a call; borrows what it refers to.
class Arg {
 public:
  Arg(const Value& value) : value_(&value) {}
  // A handle of a derived type would convert to a Value that is gone before the call.
  template <class T>
    requires(!std::is_same_v<T, ValueImpl>)
  Arg(const Ref<T>&) = delete;
  Arg(const Values& values) : values_(&values) {}
  Arg(std::nullptr_t) {}
  Arg(std::nullopt_t) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Arg(T number) {
    if constexpr (std::is_same_v<T, bool>)
      attr_ = number;
    else if constexpr (std::is_integral_v<T>)
      attr_ = static_cast<int64_t>(number);
    else
      attr_ = static_cast<double>(number);
  }
  Arg(const char* text) : attr_(std::string(text)) {}
  Arg(const std::string& text) : attr_(text) {}
  Arg(const Scalar& value) : attr_(value) {}
  Arg(DType dtype) : attr_(dtype) {}
  Arg(const IntList& list) : attr_(list) {}
  Arg(std::initializer_list<int64_t> list) : attr_(IntList(list)) {}
  Arg(const FloatList& list) : attr_(list) {}
  Arg(const AttrValue& value) : attr_(value) {}
  template <class T>
  Arg(const std::optional<T>& value) {
    if (value) attr_ = AttrValue(*value);
  }

 private:
  friend void call(const OpDef& def, std::span<const Arg> args, Values* outputs);
  const Value* value_ = nullptr;
  const Values* values_ = nullptr;
  AttrValue attr_;
};

void call(const OpDef& def, std::span<const Arg> args, Values* outputs);

template <size_t N>
struct OpName {
  constexpr OpName(const char (&text)[N]) { std::copy_n(text, N, value); }
  char value[N];
};

// All outputs of an op.
template <OpName kName, class... Args>
Values ops(const Args&... args) {
  static const OpDef& def = registry().get(kName.value);
  Values outputs;
  const Arg list[] = {Arg(args)..., Arg(nullptr)};
  call(def, std::span(list, sizeof...(args)), &outputs);
  return outputs;
}

// The first output of an op.
template <OpName kName, class... Args>
Value op(const Args&... args) {
  return std::move(ops<kName>(args...)[0]);
}

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator+(const Value& a, double b);
Value operator-(const Value& a, double b);
Value operator*(const Value& a, double b);
Value operator/(const Value& a, double b);
Value operator-(double a, const Value& b);
Value operator-(const Value& a);
// The conjugate of a complex value; a real one as it is.
Value conj(const Value& a);

}  // namespace tw::ir
