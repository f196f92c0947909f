#include "sbp/sbp.h"

#include <string_view>

#include "base/error.h"
#include "sbp/rules.h"

namespace tw::sbp {

std::string name_of(const Sbp& sbp) {
  switch (sbp.kind) {
    case Kind::kBroadcast:
      return "B";
    case Kind::kSplit:
      if (!sbp.sizes.empty()) return cat("S(", sbp.dim, ", sizes=", sbp.sizes, ")");
      return sbp.unit == 1 ? cat("S(", sbp.dim, ")") : cat("S(", sbp.dim, ", unit=", sbp.unit, ")");
    default:
      break;
  }
  const char* names[] = {"sum", "max", "min"};
  return cat("P(", names[static_cast<int>(sbp.reduce)], ")");
}

void RuleContext::add_input(const Dims& sizes, DType dtype) {
  inputs.push_back(sizes);
  input_dtypes.push_back(dtype);
  present.push_back(true);
}

void RuleContext::add_absent_input() {
  add_input({}, DType::kBool);
  present.back() = false;
}

void RuleContext::add_output(const Dims& sizes, DType dtype) {
  outputs.push_back(sizes);
  output_dtypes.push_back(dtype);
}

Signature RuleContext::all_broadcast() const {
  return {std::vector<Sbp>(inputs.size()), std::vector<Sbp>(outputs.size())};
}

void RuleContext::add_aligned_split(int64_t output_dim) {
  Signature signature = all_broadcast();
  int64_t from_right = static_cast<int64_t>(outputs[0].size()) - output_dim;
  for (size_t i = 0; i < inputs.size(); i++) {
    int64_t dim = static_cast<int64_t>(inputs[i].size()) - from_right;
    if (present[i] && dim >= 0 && inputs[i][dim] == outputs[0][output_dim]) signature.inputs[i] = split(dim);
  }
  for (size_t i = 0; i < outputs.size(); i++)
    signature.outputs[i] = split(static_cast<int64_t>(outputs[i].size()) - from_right);
  add(std::move(signature));
}

void broadcast_only(RuleContext&) {}

void elementwise(RuleContext& c) {
  for (size_t dim = 0; dim < c.outputs[0].size(); dim++) c.add_aligned_split(static_cast<int64_t>(dim));
}

void elementwise_linear(RuleContext& c) {
  elementwise(c);
  c.add({{partial()}, std::vector<Sbp>(c.outputs.size(), partial())});
}

void elementwise_monotone(RuleContext& c) {
  elementwise(c);
  for (ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) c.add({{partial(op)}, {partial(op)}});
}

void elementwise_additive(RuleContext& c) {
  elementwise(c);
  c.add({std::vector<Sbp>(c.inputs.size(), partial()), {partial()}});
}

bool is_elementwise(Rule rule) {
  for (Rule one : {elementwise, elementwise_linear, elementwise_monotone, elementwise_additive,
                   elementwise_moved, elementwise_linear_in_first, elementwise_falling, elementwise_negative,
                   elementwise_conjugate, elementwise_rising_if_real, elementwise_copy})
    if (rule == one) return true;
  return false;
}

void add_einsum(RuleContext& c, const char* equation) {
  std::string_view text(equation);
  size_t arrow = text.find("->");
  TW_ASSERT(arrow, !=, std::string_view::npos);
  std::vector<std::string_view> operands;
  std::string_view left = text.substr(0, arrow), output = text.substr(arrow + 2);
  while (true) {
    size_t comma = left.find(',');
    operands.push_back(left.substr(0, comma));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  std::string letters;
  for (auto operand : operands)
    for (char letter : operand)
      if (letters.find(letter) == std::string::npos) letters += letter;
  for (char letter : letters) {
    Signature signature = c.all_broadcast();
    int64_t full = 1;
    for (size_t i = 0; i < operands.size(); i++)
      if (size_t at = operands[i].find(letter); at != std::string_view::npos)
        full = std::max(full, c.inputs[i][at]);
    for (size_t i = 0; i < operands.size(); i++) {
      size_t at = operands[i].find(letter);
      if (at != std::string_view::npos && c.inputs[i][at] == full)
        signature.inputs[i] = split(static_cast<int64_t>(at));
    }
    size_t at = output.find(letter);
    signature.outputs[0] = at == std::string_view::npos ? partial() : split(static_cast<int64_t>(at));
    c.add(std::move(signature));
  }
  for (size_t i = 0; i < operands.size(); i++) {
    Signature signature = c.all_broadcast();
    signature.inputs[i] = partial();
    signature.outputs[0] = partial();
    c.add(std::move(signature));
  }
}

}  // namespace tw::sbp
