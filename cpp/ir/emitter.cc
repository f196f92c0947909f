#include "ir/emitter.h"

namespace tw::ir {

namespace {

Emitter* g_default = nullptr;
thread_local Emitter* t_current = nullptr;

// A copy of the default attributes, on the stack where it fits.
class AttrScratch {
 public:
  explicit AttrScratch(const OpDef& def) : type_(def.attr_type) {
    if (!type_) return;
    data_ = type_->size <= sizeof inline_ ? inline_ : ::operator new(type_->size);
    type_->copy(data_, def.defaults());
  }
  AttrScratch(const AttrScratch&) = delete;
  AttrScratch& operator=(const AttrScratch&) = delete;
  ~AttrScratch() {
    if (!type_) return;
    type_->destroy(data_);
    if (data_ != inline_) ::operator delete(data_);
  }
  void* get() { return type_ ? data_ : nullptr; }

 private:
  const StructType* type_;
  void* data_ = nullptr;
  alignas(16) unsigned char inline_[384];
};

bool is_number(const AttrValue& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value) ||
         std::holds_alternative<bool>(value) || std::holds_alternative<Scalar>(value);
}

Scalar to_scalar(const AttrValue& value) {
  if (auto v = std::get_if<int64_t>(&value)) return Scalar(*v);
  if (auto v = std::get_if<double>(&value)) return Scalar(*v);
  if (auto v = std::get_if<bool>(&value)) return Scalar(*v);
  return std::get<Scalar>(value);
}

}  // namespace

Emitter& Emitter::current() { return t_current ? *t_current : *g_default; }
void Emitter::set_default(Emitter* emitter) { g_default = emitter; }
Emitter* Emitter::swap_current(Emitter* emitter) { return std::exchange(t_current, emitter); }

void call(const OpDef& def, std::span<const Arg> args, Values* outputs) {
  Emitter& emitter = Emitter::current();
  AttrScratch attrs(def);
  SmallVector<Value, 4> inputs;
  SmallVector<int, 8> starts;
  const auto& params = def.schema.params;
  TW_ASSERT(args.size(), <=, params.size());
  for (size_t i = 0; i < params.size(); i++) {
    const Param& param = params[i];
    const Arg* arg = i < args.size() ? &args[i] : nullptr;
    if (param.kind == ParamKind::kAttr) {
      if (arg) {
        write_attr(param.field, attrs.get(), arg->attr_, def.name(), param.name.c_str());
      } else {
        TW_CHECK(param.has_default, kInternal, def.name(), ": argument ", param.name, " is missing");
      }
      continue;
    }
    if (def.schema.has_lists) starts.push_back(static_cast<int>(inputs.size()));
    if (arg && arg->values_) {
      inputs.append(arg->values_->begin(), arg->values_->end());
    } else if (arg && arg->value_) {
      inputs.push_back(*arg->value_);
    } else if (arg && is_number(arg->attr_)) {
      inputs.push_back(emitter.number(to_scalar(arg->attr_)));
    } else {
      TW_CHECK(param.optional, kInternal, def.name(), ": argument ", param.name, " is missing");
      if (param.kind == ParamKind::kTensor) inputs.push_back(Value());
    }
  }
  if (def.schema.has_lists) starts.push_back(static_cast<int>(inputs.size()));
  emitter.apply(def, std::span(inputs.data(), inputs.size()), std::span(starts.data(), starts.size()),
                attrs.get(), outputs);
}

Value operator+(const Value& a, const Value& b) { return op<"add">(a, b); }
Value operator-(const Value& a, const Value& b) { return op<"sub">(a, b); }
Value operator*(const Value& a, const Value& b) { return op<"mul">(a, b); }
Value operator/(const Value& a, const Value& b) { return op<"true_divide">(a, b); }
Value operator+(const Value& a, double b) { return op<"add">(a, b); }
Value operator-(const Value& a, double b) { return op<"sub">(a, b); }
Value operator*(const Value& a, double b) { return op<"mul">(a, b); }
Value operator/(const Value& a, double b) { return op<"true_divide">(a, b); }
Value operator-(double a, const Value& b) { return op<"rsub">(b, a); }
Value operator-(const Value& a) { return op<"neg">(a); }
Value conj(const Value& a) { return is_complex(a->dtype) ? op<"conj">(a) : a; }

}  // namespace tw::ir
