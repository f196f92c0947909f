#include "ir/registry.h"

namespace tw::ir {

namespace {

int find_name(const Schema& schema, std::string_view name, bool* output) {
  *output = false;
  for (const Param& param : schema.params)
    if (param.name == name && param.kind != ParamKind::kAttr) return param.tensor_index;
  *output = true;
  for (size_t i = 0; i < schema.outputs.size(); i++)
    if (schema.outputs[i] == name) return static_cast<int>(i);
  TW_FAIL(kInternal, schema.name, ": the gradient saves ", name, ", which the schema does not have");
}

// "input(other) result" → items
Saved parse_saved(const Schema& schema, std::string_view text) {
  Saved saved;
  while (true) {
    size_t from = text.find_first_not_of(' ');
    if (from == std::string_view::npos) return saved;
    text.remove_prefix(from);
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    Saved::Item item{};
    item.only_if = -1;
    if (size_t open = word.find('('); open != std::string_view::npos) {
      bool output;
      item.only_if = find_name(schema, word.substr(open + 1, word.size() - open - 2), &output);
      TW_ASSERT(output, ==, false);
      word = word.substr(0, open);
    }
    item.index = find_name(schema, word, &item.output);
    saved.items.push_back(item);
  }
}

}  // namespace

OpBuilder& OpBuilder::grad(const char* saved, GradFn fn) {
  def_.grad = fn;
  def_.saved = parse_saved(def_.schema, saved);
  return *this;
}

OpBuilder& OpBuilder::mutates(const char* params) {
  std::string_view text(params);
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    bool output;
    def_.mutated_params |= 1u << find_name(def_.schema, word, &output);
    TW_ASSERT(output, ==, false);
  }
  TW_CHECK(def_.schema.outputs.empty(), kInternal, def_.name(),
           ": an op that writes its inputs has no outputs");
  return *this;
}

OpRegistry::~OpRegistry() {
  for (auto& def : ops_)
    if (def->attr_type) def->attr_type->destroy(def->prototype.data());
}

OpBuilder OpRegistry::add(const char* schema, const StructType* type, std::vector<FieldType> fields) {
  auto def = std::make_unique<OpDef>();
  def->schema = parse_schema(schema);
  def->family = family_;
  def->id = static_cast<int>(ops_.size());
  def->visible_outputs = static_cast<int>(def->schema.outputs.size());
  def->attr_type = type;
  if (type) {
    def->prototype.resize(type->size);
    type->construct(def->prototype.data());
  }
  size_t next = 0;
  for (Param& param : def->schema.params) {
    if (param.kind != ParamKind::kAttr) continue;
    TW_CHECK(next < fields.size(), kInternal, def->name(), ": no struct member is given for ", param.name);
    param.field = fields[next++];
    TW_CHECK(param.field.kind == param.attr_kind && param.field.optional == param.optional, kInternal,
             def->name(), ": the member given for ", param.name, " has another type than the schema");
    if (param.has_default)
      write_attr(param.field, def->prototype.data(), param.default_value, def->name(), param.name.c_str());
  }
  TW_CHECK(next == fields.size(), kInternal, def->name(),
           ": more struct members than attributes in the schema");
  OpDef* raw = def.get();
  bool fresh = by_name_.emplace(raw->schema.name, raw).second;
  TW_CHECK(fresh, kInternal, "op ", raw->name(), " is defined twice");
  ops_.push_back(std::move(def));
  return OpBuilder(*raw);
}

const OpDef* OpRegistry::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const OpDef& OpRegistry::get(std::string_view name) const {
  const OpDef* def = find(name);
  TW_CHECK(def, kInternal, "there is no op named ", name);
  return *def;
}

OpRegistry& registry() {
  static OpRegistry instance;
  return instance;
}

double CostContext::bytes() const {
  double total = 0;
  for (const auto* list : {&inputs, &outputs})
    for (const Meta& meta : *list) total += static_cast<double>(numel(meta.sizes)) * size_of(meta.dtype);
  return total;
}
double CostContext::output_count() const {
  return outputs.empty() ? 0 : static_cast<double>(numel(outputs[0].sizes));
}
double CostContext::input_count() const {
  return inputs.empty() ? 0 : static_cast<double>(numel(inputs[0].sizes));
}
Cost copy_cost(const CostContext& c) { return {0, c.bytes(), 0}; }
Cost free_cost(const CostContext&) { return {}; }

}  // namespace tw::ir
