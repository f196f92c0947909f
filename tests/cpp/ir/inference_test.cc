// Every op's inference on inputs and attributes that nobody would give it: it refuses them by an Error or
// accepts them, and what it accepts goes through the text form. Run with the address sanitizer it also finds
// rules that look past the end of a list.
#include <limits>
#include <random>

#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "ir/verify.h"
#include "test.h"

using namespace tw;
using namespace tw::ir;

namespace {

class RandomNodes {
 public:
  explicit RandomNodes(unsigned seed) : random_(seed) {}

  std::unique_ptr<Graph> graph_of(const OpDef& def) {
    auto graph = std::make_unique<Graph>();
    DType dtype = pick_dtype();
    Values inputs;
    SmallVector<int, 4> starts;
    for (const Param& param : def.schema.params) {
      if (param.kind == ParamKind::kAttr) continue;
      if (def.schema.has_lists) starts.push_back(static_cast<int>(inputs.size()));
      for (int count = param.kind == ParamKind::kTensorList ? below(4) : 1; count > 0; count--) {
        if (param.optional && below(3) == 0) {
          inputs.push_back(Value());
          continue;
        }
        graph->inputs.push_back(
            {param.name, make_graph_value(below(4) ? dtype : pick_dtype(), pick_sizes())});
        inputs.push_back(graph->inputs.back().value);
      }
    }
    if (def.schema.has_lists) starts.push_back(static_cast<int>(inputs.size()));
    AttrBox attrs(def.attr_type, def.defaults());
    for (const Param& param : def.schema.params)
      if (param.kind == ParamKind::kAttr && (!param.has_default || below(2)))
        write_attr(param.field, attrs.get(), pick_attr(param), def.name(), param.name.c_str());
    Node& node =
        graph->append(def, {inputs.begin(), inputs.size()}, {starts.begin(), starts.size()}, attrs.get());
    if (def.random_key_offset >= 0) set_draw(node, 0);
    graph->draws = 1;
    for (const GraphRef& output : node.outputs) graph->outputs.push_back(output);
    return graph;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % limit); }
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

// An Error here is the test's failure, not the rule's refusal.
std::unique_ptr<Graph> read_back(const std::string& text) {
  try {
    return parse_graph(text);
  } catch (const Error& error) {
    throw std::runtime_error(cat(error.what(), "\n", text));
  }
}

}  // namespace

TEST(no_inputs_break_an_inference_rule) {
  eager::initialize();
  RandomNodes nodes(3);
  int accepted = 0;
  std::string wrong;
  for (const auto& def : registry().all()) {
    if (!def->infer) continue;
    for (int round = 0; round < 200; round++) {
      try {
        auto graph = nodes.graph_of(*def);
        accepted++;
        std::string text = print_graph(*graph);
        if (print_graph(*read_back(text)) != text) wrong += text;
      } catch (const Error&) {
      } catch (const std::exception& error) {
        wrong += cat(def->name(), ": ", error.what(), "\n");
        break;
      }
    }
  }
  CHECK_EQ(wrong, "");
  CHECK_GT(accepted, 5000);
}
