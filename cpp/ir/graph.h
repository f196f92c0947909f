// The static program: ops applied to values in SSA form.
//
// A value has a dtype and a shape and is never written to: an op that writes an input (`mutates`) has a fresh
// output for each tensor it writes, after the outputs of its schema. Values have no strides; where they lie
// in memory is the planner's matter. State that outlives a run stands in *variables*: their values at the
// start of a run are leaves, and `assignments` say which values they hold at its end.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/emitter.h"
#include "ir/op_def.h"
#include "sbp/layout.h"

namespace tw::ir {

struct Node;
class Graph;

class GraphValue final : public ValueImpl {
 public:
  Node* node = nullptr;   // that makes it; null for leaves
  int output = 0;         // which of the node's outputs
  int id = -1;            // its number in the text form; dense after Graph::number()
  sbp::LayoutRef layout;  // null: a local value, or not decided yet
};
using GraphRef = Ref<GraphValue>;

inline GraphValue& graph_value(const Value& value) { return static_cast<GraphValue&>(*value); }
GraphRef make_graph_value(DType dtype, const Dims& sizes);

// An attribute, or one item of a list, whose value is given anew in every run: learning rates, step counts.
struct Lifted {
  int param;   // index into the schema's parameters
  int item;    // of a list; -1 for the attribute itself
  int number;  // index into Graph::numbers
};

// Where a node comes from: the path of the module that applied it, and the user's line. Both are numbers in
// Graph::strings.
struct Place {
  int module = 0;
  int origin = 0;
};

// An op applied. `inputs` are flattened over lists and null where an optional one is absent; `starts` as in
// KernelContext.
struct Node {
  Node(const OpDef& op, const void* attributes);
  ~Node();
  const OpDef* def;
  AttrBox attrs;  // a random op's key holds the number of its draw, counted from the start of the run
  Values inputs;
  SmallVector<int, 4> starts;
  SmallVector<GraphRef, 2> outputs;
  std::vector<Lifted> lifted;
  // Of control flow (see control.h): graphs that see nothing but their inputs, and have neither variables,
  // constants, assignments nor tables of their own: numbers and strings are those of the whole graph.
  std::vector<std::unique_ptr<Graph>> regions;
  // Of a node with regions that draw random numbers, -1 otherwise. It counts as one draw; how many it takes
  // is known when it has run, and moves all draws with higher numbers.
  int64_t region_draw = -1;
  int module = 0;  // its Place
  int origin = 0;
};

// Where the values of a graph come from, other than from its nodes.
struct Leaf {
  std::string name;
  GraphRef value;
};

struct Assignment {
  int variable;  // index into Graph::variables
  Value value;
};

// Texts that many nodes share, by number; 0 is the empty one.
class StringTable {
 public:
  StringTable() : texts_{""} {}
  int intern(const std::string& text);
  const std::string& operator[](int number) const { return texts_[number]; }
  int size() const { return static_cast<int>(texts_.size()); }
  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int> numbers_;
};

class Graph {
 public:
  std::string name = "graph";
  std::string device = "cpu";        // where it runs, as plans name it; regions run with what is around
  std::vector<Leaf> inputs;          // given anew in every run
  std::vector<Leaf> variables;       // state: read, and written by the assignments
  std::vector<Leaf> constants;       // tensors that never change
  std::vector<std::string> numbers;  // names of the Python numbers that are given in every run
  std::vector<std::unique_ptr<Node>> nodes;  // each after those whose values it takes
  std::vector<Value> outputs;
  std::vector<Assignment> assignments;  // in the order in which they are committed; one a variable
  int64_t draws = 0;                    // random draws that a run takes from the generator
  // Of what one process does on accelerators, and of its regions (passes/partition): the ranks whose parts it
  // computes, ascending, and of which of them each output is a part; -1: of none.
  std::vector<int64_t> ranks, output_ranks;
  StringTable strings;
  Place place;  // of the nodes that append() makes

  // Infers and appends; `attrs` are copied.
  Node& append(const OpDef& def, std::span<const Value> inputs, std::span<const int> starts,
               const void* attrs);
  // The same for an op with regions.
  Node& append(const OpDef& def, std::span<const Value> inputs, std::span<const int> starts,
               const void* attrs, std::vector<std::unique_ptr<Graph>> regions);
  // Gives all values dense numbers in the order of the text form (inputs, variables, constants, nodes);
  // returns how many there are.
  // Regions are not entered: their values have numbers of their own.
  int number();

 private:
  Node& add(std::unique_ptr<Node> node);
};

// While it lives, append() makes nodes with the place of `node`: for passes that put others in its stead.
class PlaceOf {
 public:
  PlaceOf(Graph& graph, const Node& node) : graph_(graph), before_(graph.place) {
    graph.place = {node.module, node.origin};
  }
  ~PlaceOf() { graph_.place = before_; }
  PlaceOf(const PlaceOf&) = delete;
  PlaceOf& operator=(const PlaceOf&) = delete;

 private:
  Graph& graph_;
  Place before_;
};

// Inputs that an op writes, in order: one fresh output stands for each.
std::vector<int> mutated_inputs(const Node& node);
// Throws kValue unless the sizes are those of a tensor: not negative, its bytes counted by 64 bits.
void check_sizes(DType dtype, const Dims& sizes);
// What inference says of the outputs, those for written inputs included. Throws as the op's rule does, and
// check_sizes.
SmallVector<Meta, 2> infer_outputs(const Node& node);
// The number that a random node's key holds, or a node with random regions has; -1 for other ops.
int64_t draw_of(const Node& node);
void set_draw(Node& node, int64_t draw);

// Applies ops to graph values by appending nodes: with it current, passes write replacements with
// op<"mul">(a, b). Inputs must agree in dtype already: promotion and autocast happened when the graph was
// recorded.
class GraphEmitter final : public Emitter {
 public:
  explicit GraphEmitter(Graph& graph) : graph_(graph) {}
  void apply(const OpDef& def, std::span<const Value> inputs, std::span<const int> starts, void* attrs,
             Values* outputs) override;
  Value number(const Scalar& value) override;

 private:
  Graph& graph_;
};

}  // namespace tw::ir
