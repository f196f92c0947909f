// Nodes with inputs and attributes that nobody would give them, as far as inference accepts them.
#pragma once

#include <limits>
#include <random>

#include "eager/dispatch.h"
#include "ir/verify.h"

namespace tw::test {

using namespace ir;

class RandomNodes {
 public:
  explicit RandomNodes(unsigned seed) : random_(seed) {}

  std::unique_ptr<Graph> graph_of(const OpDef& def) {
    auto graph = std::make_unique<Graph>();
    append(*graph, def, {});
    for (const GraphRef& output : graph->nodes[0]->outputs) graph->outputs.push_back(output);
    return graph;
  }

  // Nodes of the given ops that take each other's outputs, and inputs of the graph, while `accepts` says so.
  template <class Accepts>
  std::unique_ptr<Graph> program(const std::vector<const OpDef*>& ops, int attempts, const Accepts& accepts) {
    auto graph = std::make_unique<Graph>();
    Values made;
    while (attempts-- > 0) {
      size_t before = graph->nodes.size();
      try {
        append(*graph, *ops[below(static_cast<int>(ops.size()))], made);
        verify(*graph);
      } catch (const Error&) {
        graph->nodes.resize(before);
        continue;
      }
      const auto& outputs = graph->nodes.back()->outputs;
      if (accepts(*graph->nodes.back()))
        made.append(outputs.begin(), outputs.end());
      else
        graph->nodes.pop_back();
    }
    for (int i = 0; i < 6 && !made.empty(); i++) graph->outputs.push_back(made[below(made.size())]);
    return graph;
  }

 private:
  // Throws where inference refuses it; inputs of the graph that were made for it stay.
  void append(Graph& graph, const OpDef& def, const Values& made) {
    DType dtype = pick_dtype();
    Values inputs;
    SmallVector<int, 4> starts;
    for (const Param& param : def.schema.params) {
      if (param.kind == ParamKind::kAttr) continue;
      if (def.schema.has_lists) starts.push_back(static_cast<int>(inputs.size()));
      for (int count = param.kind == ParamKind::kTensorList ? below(4) : 1; count > 0; count--) {
        if (param.optional && below(3) == 0)
          inputs.push_back(Value());
        else
          inputs.push_back(pick_input(graph, param, dtype, made));
      }
    }
    if (def.schema.has_lists) starts.push_back(static_cast<int>(inputs.size()));
    AttrBox attrs(def.attr_type, def.defaults());
    for (const Param& param : def.schema.params)
      if (param.kind == ParamKind::kAttr && (!param.has_default || below(2)))
        write_attr(param.field, attrs.get(), pick_attr(param), def.name(), param.name.c_str());
    Node& node =
        graph.append(def, {inputs.begin(), inputs.size()}, {starts.begin(), starts.size()}, attrs.get());
    if (def.random_key_offset >= 0) set_draw(node, graph.draws++);
  }

  Value pick_input(Graph& graph, const Param& param, DType dtype, const Values& made) {
    if (!made.empty() && below(8)) return made[below(made.size())];
    graph.inputs.push_back({param.name, make_graph_value(below(4) ? dtype : pick_dtype(), pick_sizes())});
    return graph.inputs.back().value;
  }

  int below(size_t limit) { return static_cast<int>(random_() % limit); }
  DType pick_dtype() {
    return static_cast<DType>(below(3) ? static_cast<int>(DType::kFloat32) : below(kDTypeCount));
  }
  Dims pick_sizes() {
    Dims sizes;
    for (int rank = below(5); rank > 0; rank--) sizes.push_back(below(20) ? 1 + below(4) : 0);
    return sizes;
  }
  int64_t pick_int() {
    static const int64_t kOdd[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                                   1 << 20};
    return below(12) ? below(7) - 2 : kOdd[below(3)];
  }
  double pick_float() {
    static const double kOdd[] = {0.0, -0.0, 0.5, 1.0, -2.5, 1e300, INFINITY, -INFINITY, NAN};
    return kOdd[below(9)];
  }
  AttrValue pick_attr(const Param& param) {
    if (param.optional && below(3) == 0) return std::monostate();
    static const char* const kTexts[] = {"none", "tanh",  "reduced", "mean",     "sum",
                                         "L",    "floor", "zeros",   "bilinear", ""};
    IntList ints;
    FloatList floats;
    for (int length = below(5); length > 0; length--) {
      ints.push_back(pick_int());
      floats.push_back(pick_float());
    }
    switch (param.attr_kind) {
      case AttrKind::kBool:
        return below(2) == 0;
      case AttrKind::kInt:
        return pick_int();
      case AttrKind::kFloat:
        return pick_float();
      case AttrKind::kString:
        return std::string(kTexts[below(10)]);
      case AttrKind::kScalar:
        return below(2) ? Scalar(pick_int()) : Scalar(complex128(pick_float(), pick_float()));
      case AttrKind::kDType:
        return pick_dtype();
      case AttrKind::kIntList:
        return ints;
      default:
        return floats;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace tw::test
