#include "eager/global_plan.h"

#include <cstring>
#include <unordered_map>

#include "eager/dispatch.h"
#include "eager/modes.h"
#include "ir/registry.h"
#include "sbp/choose.h"
#include "sbp/signatures.h"

namespace tw::eager {

namespace {

struct Hash {
  uint64_t value = 0;
  void add(uint64_t word) {
    value = (value ^ word) * 0x9E3779B97F4A7C15;
    value ^= value >> 29;
  }
  void add(const Dims& dims) {
    add(dims.size());
    for (int64_t size : dims) add(static_cast<uint64_t>(size));
  }
};

// Calls body with the typed field of both structs; for optional ones with what they hold, after telling
// whether both do.
template <class T, class Body>
bool compare_field(const ir::FieldType& field, const void* a, const void* b, const Body& body) {
  const char* x = static_cast<const char*>(a) + field.offset;
  const char* y = static_cast<const char*>(b) + field.offset;
  if (!field.optional) return body(*reinterpret_cast<const T*>(x), *reinterpret_cast<const T*>(y));
  const auto& left = *reinterpret_cast<const std::optional<T>*>(x);
  const auto& right = *reinterpret_cast<const std::optional<T>*>(y);
  return left.has_value() == right.has_value() && (!left || body(*left, *right));
}

// Random keys are no attributes of the schema: calls that differ in them alone are equal here.
bool same_attrs(const ir::OpDef& def, const void* a, const void* b) {
  for (const ir::Param& param : def.schema.params) {
    if (param.kind != ir::ParamKind::kAttr) continue;
    bool same = ir::dispatch_attr(param.field.kind, [&]<class T>() {
      return compare_field<T>(param.field, a, b, [](const T& left, const T& right) {
        if constexpr (std::is_same_v<T, Scalar>)
          return left.kind() == right.kind() && left.to_complex() == right.to_complex() &&
                 (!left.is_integral() || left.to_int() == right.to_int());
        else
          return std::equal_to<>()(left, right);
      });
    });
    if (!same) return false;
  }
  return true;
}

void hash_attrs(const ir::OpDef& def, const void* attrs, Hash& hash) {
  for (const ir::Param& param : def.schema.params) {
    if (param.kind != ir::ParamKind::kAttr || param.field.optional) continue;
    const char* field = static_cast<const char*>(attrs) + param.field.offset;
    if (param.field.kind == ir::AttrKind::kInt) hash.add(*reinterpret_cast<const uint64_t*>(field));
    if (param.field.kind == ir::AttrKind::kIntList) hash.add(*reinterpret_cast<const IntList*>(field));
  }
}

// What a plan follows from.
struct Key {
  struct Input {
    Dims sizes;
    DType dtype;
    bool present, number;
    const sbp::Layout* layout;
    bool operator==(const Input&) const = default;
  };
  const sbp::Placement* placement;
  const sbp::Layout* result;
  bool inplace;
  int version;  // of the addressable devices
  SmallVector<int, 4> starts;
  SmallVector<Input, 4> inputs;
};

bool same_key(const Key& a, const Key& b) {
  return a.placement == b.placement && a.result == b.result && a.inplace == b.inplace &&
         a.version == b.version &&
         std::equal(a.starts.begin(), a.starts.end(), b.starts.begin(), b.starts.end()) &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end());
}

struct Known {
  const ir::OpDef* def;
  Key key;
  ir::AttrBox attrs;
  std::shared_ptr<const GlobalPlan> plan;  // null: there is none
};

class Memory {
 public:
  template <class Make>
  std::shared_ptr<const GlobalPlan> find(const ir::OpDef& def, Key&& key, const void* attrs,
                                         const Make& make) {
    Hash hash;
    hash.add(static_cast<uint64_t>(def.id));
    hash.add(reinterpret_cast<uint64_t>(key.placement));
    for (const Key::Input& input : key.inputs) {
      hash.add(input.sizes);
      hash.add(reinterpret_cast<uint64_t>(input.layout));
    }
    hash_attrs(def, attrs, hash);
    auto [first, last] = known_.equal_range(hash.value);
    for (auto at = first; at != last; ++at) {
      const Known& known = *at->second;
      if (known.def == &def && same_key(known.key, key) && same_attrs(def, known.attrs.get(), attrs))
        return known.plan;
    }
    std::shared_ptr<const GlobalPlan> plan = make();
    if (known_.size() >= kMost) known_.clear();
    known_.emplace(hash.value, std::unique_ptr<Known>(
                                   new Known{&def, std::move(key), ir::AttrBox(def.attr_type, attrs), plan}));
    return plan;
  }

 private:
  static constexpr size_t kMost = 16384;
  std::unordered_multimap<uint64_t, std::unique_ptr<Known>> known_;
};

Key key_of(const sbp::Placement& placement, std::span<const ir::Value> inputs, std::span<const int> starts,
           const sbp::Layout* result, bool inplace) {
  Key key{&placement, result, inplace, addressable(placement).version, {}, {}};
  key.starts.append(starts.begin(), starts.end());
  for (const ir::Value& input : inputs) {
    if (!input) {
      key.inputs.push_back({{}, DType::kBool, false, false, nullptr});
      continue;
    }
    const TensorImpl& tensor = tensor_of(input);
    key.inputs.push_back({tensor.sizes, tensor.dtype, true, tensor.wrapped_number,
                          tensor.global ? layout_of(tensor).get() : nullptr});
  }
  return key;
}

std::shared_ptr<GlobalPlan> make_plan(const ir::OpDef& def, const sbp::PlacementRef& placement,
                                      std::span<const ir::Value> inputs, std::span<const int> starts,
                                      const void* attrs, const sbp::Demand& demand) {
  ir::InferContext inferred;
  infer(def, inputs, starts, attrs, inferred);
  auto plan = std::make_shared<GlobalPlan>();
  plan->metas = inferred.outputs;
  std::vector<sbp::Operand> operands;
  std::vector<Dims> outputs;
  for (const ir::Value& input : inputs) {
    if (!input) {
      operands.emplace_back();
      continue;
    }
    const TensorImpl& tensor = tensor_of(input);
    double bytes = static_cast<double>(tensor.count() * size_of(tensor.dtype));
    operands.push_back({tensor.sizes, bytes, tensor.global ? &layout_of(tensor)->sbp : nullptr});
  }
  for (const ir::Meta& meta : plan->metas) outputs.push_back(meta.sizes);
  auto signatures = signatures_of(def, inputs, {plan->metas.data(), plan->metas.size()}, attrs);
  std::optional<sbp::Choice> choice = sbp::choose(*placement, signatures, operands, outputs, demand);
  if (!choice) return nullptr;
  for (size_t i = 0; i < inputs.size(); i++)
    plan->inputs.push_back(operands[i].lies ? sbp::layout(placement, choice->inputs[i]) : nullptr);
  for (const sbp::NdSbp& output : choice->outputs) plan->outputs.push_back(sbp::layout(placement, output));
  if (def.localize && def.random_key_offset < 0)
    for (int64_t position : addressable(*placement).positions) {
      plan->attrs.push_back(std::make_unique<ir::AttrBox>(def.attr_type, attrs));
      localize(def, *plan, inputs, position, plan->attrs.back()->get());
    }
  return plan;
}

Memory& memory() {
  thread_local Memory memory;
  return memory;
}

}  // namespace

std::vector<sbp::Signature> signatures_of(const ir::OpDef& def, std::span<const ir::Value> inputs,
                                          std::span<const ir::Meta> outputs, const void* attrs) {
  sbp::RuleContext context;
  if (!def.sbp_rule || def.dynamic_sizes) return {};
  context.attributes = attrs;
  for (const ir::Value& input : inputs) {
    if (input)
      context.add_input(input->sizes, input->dtype);
    else
      context.add_absent_input();
  }
  for (const ir::Meta& meta : outputs) context.add_output(meta.sizes, meta.dtype);
  return sbp::rule_signatures(def.sbp_rule, std::move(context));
}

void localize(const ir::OpDef& def, const GlobalPlan& plan, std::span<const ir::Value> inputs,
              int64_t position, void* attrs) {
  ir::ShardContext shard;
  auto add = [&](const sbp::LayoutRef& layout, const Dims& sizes, std::vector<Dims>& parts,
                 std::vector<Dims>& wholes, std::vector<Dims>& firsts) {
    sbp::Box box{Dims(sizes.size()), sizes};
    if (layout) box = box_of(*layout, sizes, position);
    parts.push_back(box.sizes);
    firsts.push_back(box.first);
    wholes.push_back(sizes);
  };
  for (size_t i = 0; i < inputs.size(); i++)
    add(plan.inputs[i], inputs[i] ? inputs[i]->sizes : Dims(), shard.inputs, shard.whole_inputs,
        shard.first_inputs);
  for (size_t i = 0; i < plan.outputs.size(); i++)
    add(plan.outputs[i], plan.metas[i].sizes, shard.outputs, shard.whole_outputs, shard.first_outputs);
  shard.attributes = attrs;
  def.localize(shard);
}

std::shared_ptr<const GlobalPlan> plan_of(const ir::OpDef& def, const sbp::PlacementRef& placement,
                                          std::span<const ir::Value> inputs, std::span<const int> starts,
                                          const void* attrs, const sbp::Layout* result) {
  return memory().find(def, key_of(*placement, inputs, starts, result, false), attrs, [&] {
    sbp::Demand demand{result ? &result->sbp : nullptr, false};
    return make_plan(def, placement, inputs, starts, attrs, demand);
  });
}

std::shared_ptr<const GlobalPlan> plan_inplace(const ir::OpDef& def, std::span<const ir::Value> inputs,
                                               std::span<const int> starts, const void* attrs) {
  const sbp::LayoutRef& layout = layout_of(tensor_of(inputs[0]));
  return memory().find(def, key_of(*layout->placement, inputs, starts, layout.get(), true), attrs, [&] {
    return make_plan(def, layout->placement, inputs, starts, attrs, {&layout->sbp, true});
  });
}

}  // namespace tw::eager
