#include "eager/promotion.h"

#include <optional>

#include "eager/modes.h"
#include "ir/emitter.h"

namespace tw::eager {

namespace {

using MaybeDType = std::optional<DType>;

void merge(MaybeDType& into, DType dtype) { into = into ? promote(*into, dtype) : dtype; }

// `higher` is of a higher rank than `lower` and yields only to a higher kind.
MaybeDType combine(MaybeDType higher, MaybeDType lower) {
  if (!higher) return lower;
  if (!lower || kind_of(*lower) <= kind_of(*higher)) return higher;
  if (is_complex(*lower) && is_float(*higher)) return complex_of(*higher);
  return promote(*higher, *lower);
}

bool concerned(const ir::OpDef& def, int input, std::span<const int> starts) {
  if (def.promoted_params == ~0u) return true;
  int param = input;
  if (!starts.empty())
    for (param = 0; starts[param + 1] <= input;) param++;
  return def.promoted_params >> param & 1;
}

ir::Value cast(const ir::Value& value, DType dtype) {
  if (value->wrapped_number && !tensor_of(value).storage->symbolic())
    return wrapped_number(item(tensor_of(value)), dtype);
  ir::Value result = ir::op<"cast">(value, dtype);
  result->wrapped_number = value->wrapped_number;  // a number of a program goes with any placement, too
  return result;
}

}  // namespace

DType result_type(std::span<const ir::Value> inputs) {
  MaybeDType dimmed, scalars, numbers;
  for (const ir::Value& input : inputs) {
    if (!input) continue;
    if (input->wrapped_number) {
      merge(numbers, default_dtype(kind_of(input->dtype)));
    } else {
      merge(input->rank() == 0 ? scalars : dimmed, input->dtype);
    }
  }
  return combine(combine(dimmed, scalars), numbers).value_or(default_float());
}

namespace {

// Do all tensors among the inputs agree already? (A number never counts as agreeing.)
bool all_agree(std::span<const ir::Value> inputs, DType* common) {
  bool first = true;
  for (const ir::Value& input : inputs) {
    if (!input) continue;
    if (input->wrapped_number || (!first && input->dtype != *common)) return false;
    *common = input->dtype;
    first = false;
  }
  return true;
}

DType common_dtype(const ir::OpDef& def, const InputList& concerned) {
  std::span<const ir::Value> inputs(concerned.data(), concerned.size());
  DType common = def.promotion == ir::Promotion::kLikeFirst ? inputs[0]->dtype : result_type(inputs);
  bool to_float = def.promotion == ir::Promotion::kFloat && kind_of(common) <= DTypeKind::kInt;
  return to_float ? default_float() : common;
}

}  // namespace

bool promote_inputs(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                    InputList* out) {
  DType common = DType::kFloat32;
  if (all_agree(inputs, &common) &&
      (def.promotion != ir::Promotion::kFloat || kind_of(common) > DTypeKind::kInt))
    return false;
  InputList counted;
  for (size_t i = 0; i < inputs.size(); i++)
    if (inputs[i] && concerned(def, static_cast<int>(i), starts)) counted.push_back(inputs[i]);
  if (counted.empty()) return false;
  common = common_dtype(def, counted);
  out->append(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!inputs[i] || !concerned(def, static_cast<int>(i), starts)) continue;
    if (inputs[i]->dtype == common) continue;
    TW_CHECK(
        def.promotion != ir::Promotion::kLikeFirst || !is_complex(inputs[i]->dtype) || is_complex(common),
        kRuntime, def.name(), ": a complex value cannot be converted to dtype ", common);
    (*out)[i] = cast(inputs[i], common);
  }
  return true;
}

bool autocast_inputs(const ir::OpDef& def, std::span<const ir::Value> inputs, InputList* out) {
  DType low = modes().autocast_dtype;
  if (def.autocast == ir::Autocast::kNone) return false;
  DType target = def.autocast == ir::Autocast::kLow ? low : DType::kFloat32;
  if (def.autocast == ir::Autocast::kWidest) {
    target = low;
    for (const ir::Value& input : inputs)
      if (input && input->dtype == DType::kFloat32) target = DType::kFloat32;
  }
  bool changed = false;
  for (const ir::Value& input : inputs)
    changed |= input && is_float(input->dtype) && input->dtype != DType::kFloat64 && input->dtype != target;
  if (!changed) return false;
  out->append(inputs.begin(), inputs.end());
  for (ir::Value& input : *out)
    if (input && is_float(input->dtype) && input->dtype != DType::kFloat64 && input->dtype != target)
      input = ir::op<"cast">(input, target);
  return true;
}

bool cast_to_attribute(const ir::OpDef& def, std::span<const ir::Value> inputs, const void* attrs,
                       InputList* out) {
  const void* field = static_cast<const char*>(attrs) + def.input_dtype_offset;
  const auto& dtype = *static_cast<const std::optional<DType>*>(field);
  if (!dtype || *dtype == inputs[0]->dtype) return false;
  out->append(inputs.begin(), inputs.end());
  (*out)[0] = cast(inputs[0], *dtype);
  return true;
}

}  // namespace tw::eager
