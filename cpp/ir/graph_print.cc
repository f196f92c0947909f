#include "ir/attr_text.h"
#include "ir/control.h"
#include "ir/graph_text.h"

namespace tw::ir {

namespace {

void print_type(std::string& out, DType dtype, const Dims& sizes) {
  append_text(out, dtype);
  append_text(out, sizes);
}

void print_type(std::string& out, const GraphValue& value) {
  print_type(out, value.dtype, value.sizes);
  if (value.layout) out += cat(" @", *value.layout);
}

// A broken graph prints too: its values may be null, or of another kind.
void print_value(std::string& out, const ValueImpl* value) {
  if (!value) {
    out += "None";
    return;
  }
  const auto* known = dynamic_cast<const GraphValue*>(value);
  out += '%';
  if (known && known->id >= 0)
    append_text(out, known->id);
  else
    out += '?';
}

template <class List, class Print>
void print_separated(std::string& out, const List& list, const Print& print) {
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ", ";
    first = false;
    print(item);
  }
}

// Prints what stands between the braces of a graph. `root` has the texts and numbers of it all.
void print_body(std::string& out, const Graph& root, const Graph& graph, const std::string& indent);

class NodePrinter {
 public:
  // With `indent`, regions are printed in full, else left out.
  NodePrinter(std::string& out, const Graph& root, const Node& node, const std::string* indent)
      : out_(out), graph_(root), node_(node), indent_(indent) {}

  void print() {
    print_separated(out_, node_.outputs, [&](const GraphRef& value) { print_value(out_, value.get()); });
    if (!node_.outputs.empty()) out_ += " = ";
    out_ += node_.def->schema.name;
    out_ += '(';
    inputs();
    attributes();
    out_ += ')';
    if (int64_t draw = draw_of(node_); draw >= 0) {
      out_ += " draw ";
      append_text(out_, draw);
    }
    regions();
    if (!node_.outputs.empty()) out_ += " : ";
    print_separated(out_, node_.outputs, [&](const GraphRef& value) {
      if (value) print_type(out_, *value);
    });
    place(" in ", node_.module);
    place(" at ", node_.origin);
  }

 private:
  void comma() {
    if (!first_) out_ += ", ";
    first_ = false;
  }

  void inputs() {
    for (const Param& param : node_.def->schema.params) {
      if (param.kind == ParamKind::kAttr) continue;
      comma();
      std::span<const Value> range = operands(param.tensor_index);
      if (param.kind == ParamKind::kTensorList) out_ += '[';
      print_separated(out_, range, [&](const Value& value) { print_value(out_, value.get()); });
      if (param.kind == ParamKind::kTensorList) out_ += ']';
    }
  }

  // What stands for a tensor parameter; starts that cut the inputs wrongly give less.
  std::span<const Value> operands(int tensor) const {
    auto start = [&](int i) {
      size_t known = node_.starts.empty()                        ? i
                     : i < static_cast<int>(node_.starts.size()) ? node_.starts[i]
                                                                 : -1;
      return std::min(known, node_.inputs.size());
    };
    size_t from = start(tensor), to = std::max(from, start(tensor + 1));
    return {node_.inputs.begin() + from, to - from};
  }

  void regions() {
    auto names = region_names(*node_.def);
    for (size_t i = 0; i < node_.regions.size() && i < names.size(); i++) {
      out_ += cat(" ", names[i], " {");
      if (indent_ && node_.regions[i]) {
        out_ += '\n';
        print_body(out_, graph_, *node_.regions[i], *indent_ + "  ");
        out_ += *indent_;
      } else {
        out_ += "..";
      }
      out_ += '}';
    }
  }

  void attributes() {
    const auto& params = node_.def->schema.params;
    for (size_t i = 0; i < params.size(); i++) {
      const Param& param = params[i];
      if (param.kind != ParamKind::kAttr) continue;
      SmallVector<LiftedItem, 4> lifted;
      for (const Lifted& one : node_.lifted)
        if (one.param == static_cast<int>(i)) lifted.push_back({one.item, one.number});
      AttrValue value = read_attr(param.field, node_.attrs.get());
      if (lifted.empty() && param.has_default &&
          same_attr(value, read_attr(param.field, node_.def->defaults())))
        continue;
      comma();
      out_ += param.name;
      out_ += '=';
      print_attr(out_, value, {lifted.begin(), lifted.size()});
    }
  }

  void place(const char* word, int text) {
    if (text <= 0 || text >= graph_.strings.size()) return;
    out_ += word;
    print_string(out_, graph_.strings[text]);
  }

  std::string& out_;
  const Graph& graph_;
  const Node& node_;
  const std::string* indent_;
  bool first_ = true;
};

void print_leaves(std::string& out, const char* kind, const std::vector<Leaf>& leaves,
                  const std::string& indent) {
  for (const Leaf& leaf : leaves) {
    out += indent;
    out += kind;
    out += ' ';
    print_value(out, leaf.value.get());
    out += ' ';
    print_string(out, leaf.name);
    out += " : ";
    print_type(out, *leaf.value);
    out += '\n';
  }
}

void print_tail(std::string& out, const Graph& graph, const std::string& indent) {
  for (const Assignment& assignment : graph.assignments) {
    out += indent + "assign ";
    print_value(out, graph.variables[assignment.variable].value.get());
    out += " = ";
    print_value(out, assignment.value.get());
    out += '\n';
  }
  out += indent + (graph.outputs.empty() ? "return" : "return ");
  print_separated(out, graph.outputs, [&](const Value& value) { print_value(out, value.get()); });
  out += '\n';
  if (graph.draws) {
    out += indent + "draws ";
    append_text(out, graph.draws);
    out += '\n';
  }
}

void print_body(std::string& out, const Graph& root, const Graph& graph, const std::string& indent) {
  print_leaves(out, "input", graph.inputs, indent);
  print_leaves(out, "variable", graph.variables, indent);
  print_leaves(out, "constant", graph.constants, indent);
  for (size_t i = 0; i < graph.numbers.size(); i++) {
    out += indent + cat("number $", i, " ");
    print_string(out, graph.numbers[i]);
    out += '\n';
  }
  for (const auto& node : graph.nodes) {
    out += indent;
    NodePrinter(out, root, *node, &indent).print();
    out += '\n';
  }
  print_tail(out, graph, indent);
}

}  // namespace

std::string type_text(DType dtype, const Dims& sizes) {
  std::string out;
  print_type(out, dtype, sizes);
  return out;
}

std::string node_text(const Graph& graph, const Node& node) {
  std::string out;
  NodePrinter(out, graph, node, nullptr).print();
  return out;
}

std::string print_graph(Graph& graph) {
  for_each_graph(graph, [](Graph& one) { one.number(); });
  std::string out = "graph ";
  print_string(out, graph.name);
  if (graph.device != "cpu") {
    out += " on ";
    print_string(out, graph.device);
  }
  out += " {\n";
  print_body(out, graph, graph, "  ");
  out += "}\n";
  return out;
}

}  // namespace tw::ir
