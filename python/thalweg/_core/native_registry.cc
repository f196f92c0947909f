// What the generators, checkers and tests see of the ops.
#include <pybind11/stl.h>

#include "eager/dispatch.h"
#include "ir/registry.h"
#include "native.h"

namespace tw::py {

namespace {

pybind11::list exposures(unsigned bits) {
  static const std::pair<unsigned, const char*> names[] = {
      {ir::kFunction, "function"}, {ir::kMethod, "method"}, {ir::kNnFunctional, "nn.functional"},
      {ir::kInplace, "inplace"},   {ir::kLinalg, "linalg"}, {ir::kSpecial, "special"}};
  pybind11::list result;
  for (auto [bit, name] : names)
    if (bits & bit) result.append(name);
  return result;
}

pybind11::dict describe(const ir::OpDef& def) {
  pybind11::dict d;
  d["name"] = def.schema.name;
  d["schema"] = def.schema.text;
  d["doc"] = def.doc;
  d["family"] = def.family;
  d["composite"] = def.expand != nullptr;
  d["view"] = def.view != nullptr;
  d["has_grad"] = def.grad != nullptr;
  d["differentiable"] = def.grad != nullptr || def.expand != nullptr;
  d["no_grad_reason"] = def.no_grad_reason;
  d["has_sbp"] = def.sbp_rule != nullptr || def.expand != nullptr;
  d["localized"] = def.localize != nullptr;
  d["has_cost"] = def.cost != nullptr || def.expand != nullptr;
  d["has_infer"] = def.infer != nullptr || def.expand != nullptr;
  pybind11::list kernels;
  if (eager::has_kernel(def)) kernels.append("cpu");
  d["kernels"] = kernels;
  d["exposed"] = exposures(def.exposure);
  d["visible_outputs"] = def.visible_outputs;
  d["random"] = def.random_key_offset >= 0;
  pybind11::list params;
  for (const ir::Param& param : def.schema.params)
    params.append(pybind11::make_tuple(param.name, param.type_text));
  d["params"] = params;
  d["outputs"] =
      std::vector<std::string>(def.schema.outputs.begin(), def.schema.outputs.begin() + def.visible_outputs);
  return d;
}

}  // namespace

void bind_registry(pybind11::module_& m) {
  m.def(
      "registry",
      [] {
        pybind11::list result;
        for (const auto& def : ir::registry().all()) result.append(describe(*def));
        return result;
      },
      "All ops, as dicts.");
}

}  // namespace tw::py
