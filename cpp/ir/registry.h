// All ops, and the builder that a definition file fills one in with.
#pragma once

#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/philox.h"
#include "ir/op_def.h"

namespace tw::ir {

namespace detail {
template <class M>
struct Member;
template <class A, class T>
struct Member<T A::*> {
  using Struct = A;
  using Type = T;
};

template <class M>
size_t member_offset(M member) {
  using A = typename Member<M>::Struct;
  alignas(A) static char probe[sizeof(A)];
  auto* base = reinterpret_cast<A*>(probe);
  return reinterpret_cast<char*>(&(base->*member)) - probe;
}

template <class M>
FieldType field_type(M member) {
  using Field = FieldTraits<typename Member<M>::Type>;
  return {AttrTraits<typename Field::type>::kind, Field::optional, member_offset(member)};
}
}  // namespace detail

// For `localize`: this attribute holds the sizes of output 0.
template <auto kMember>
void holds_output_sizes(ShardContext& c) {
  using A = typename detail::Member<decltype(kMember)>::Struct;
  c.attrs<A>().*kMember = c.outputs[0];
}

class OpBuilder {
 public:
  OpBuilder(OpDef& def) : def_(def) {}
  OpBuilder& doc(const char* text) { return def_.doc = text, *this; }
  OpBuilder& infer(InferFn fn) { return def_.infer = fn, *this; }
  // `params`: which tensor parameters take part, a bit for each.
  OpBuilder& promote(Promotion promotion, unsigned params = ~0u) {
    def_.promotion = promotion;
    def_.promoted_params = params;
    return *this;
  }
  // Which tensor parameters take Python numbers, a bit for each; unless said, all but the first.
  OpBuilder& numbers(unsigned params) { return def_.number_params = params, *this; }
  OpBuilder& autocast(Autocast policy) { return def_.autocast = policy, *this; }
  // `saved` names what the rule reads: see Saved.
  OpBuilder& grad(const char* saved, GradFn fn);
  // For ops on floats without a gradient (round to a grid, comparisons): the reason.
  OpBuilder& no_grad(const char* reason) { return def_.no_grad_reason = reason, *this; }
  OpBuilder& view(ViewFn fn) { return def_.view = fn, *this; }
  // A view whose elements are a part of the input's, each once: backward may add into that part of a sum.
  OpBuilder& cut(ViewFn fn) { return def_.cuts = true, view(fn); }
  OpBuilder& expand(ExpandFn fn) { return def_.expand = fn, *this; }
  // An op that says it is elementwise also gives its results the order of its inputs.
  OpBuilder& sbp(sbp::Rule rule) {
    def_.sbp_rule = rule;
    return sbp::is_elementwise(rule) ? order(ResultOrder::kLikeInputs) : *this;
  }
  // `params`: which tensor parameters decide, a bit for each.
  OpBuilder& order(ResultOrder order, unsigned params = 1) {
    def_.order = order;
    def_.order_params = params;
    return *this;
  }
  // For attributes that speak of sizes, where the SBP rule lets these be cut.
  OpBuilder& localize(LocalizeFn fn) { return def_.localize = fn, *this; }
  OpBuilder& cost(CostFn fn) { return def_.cost = fn, *this; }
  OpBuilder& expose(unsigned where) { return def_.exposure = where, *this; }
  OpBuilder& visible(int outputs) { return def_.visible_outputs = outputs, *this; }
  // The kernel writes these parameters (names, separated by spaces) instead of making outputs: multi-tensor
  // optimizer steps. Never recorded; refused for tensors whose history matters.
  OpBuilder& mutates(const char* params);
  OpBuilder& dynamic() { return def_.dynamic_sizes = true, *this; }
  // The first input is cast to this attribute's dtype when it is given.
  template <class A>
  OpBuilder& input_dtype(std::optional<DType> A::* dtype) {
    def_.input_dtype_offset = static_cast<int>(detail::member_offset(dtype));
    return *this;
  }
  // Draws random numbers: dispatch fills this member of the attributes, one draw of the generator a call.
  template <class A>
  OpBuilder& random(PhiloxKey A::* key) {
    def_.random_key_offset = static_cast<int>(detail::member_offset(key));
    return *this;
  }

 private:
  OpDef& def_;
};

class OpRegistry {
 public:
  OpRegistry() = default;
  ~OpRegistry();
  // r.op("sum(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", &SumAttrs::dim,
  // &SumAttrs::keepdim): a member for every attribute, in the schema's order.
  template <class... Members>
  OpBuilder op(const char* schema, Members... members) {
    if constexpr (sizeof...(members) == 0) {
      return add(schema, nullptr, {});
    } else {
      using A = typename detail::Member<std::tuple_element_t<0, std::tuple<Members...>>>::Struct;
      return add(schema, struct_type<A>(), {detail::field_type(members)...});
    }
  }
  // The same for an op whose struct holds only a random key.
  template <class A>
  OpBuilder op_with(const char* schema) {
    return add(schema, struct_type<A>(), {});
  }

  const OpDef& get(std::string_view name) const;   // throws kInternal when there is none
  const OpDef* find(std::string_view name) const;  // null when there is none
  const std::vector<std::unique_ptr<OpDef>>& all() const { return ops_; }
  void set_family(std::string_view family) { family_ = family; }

 private:
  OpBuilder add(const char* schema, const StructType* type, std::vector<FieldType> fields);

  std::vector<std::unique_ptr<OpDef>> ops_;
  std::unordered_map<std::string_view, OpDef*> by_name_;
  std::string family_;
};

// The one registry; filled by tw::ops::define_all when the library loads, read-only afterwards.
OpRegistry& registry();

}  // namespace tw::ir
