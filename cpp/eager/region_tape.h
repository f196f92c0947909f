// What the nodes of cond and loop on the tape have in common.
#pragma once

#include <unordered_set>

#include "eager/control.h"
#include "eager/region_values.h"

namespace tw::eager {

bool is_differentiable(DType dtype);
inline const ir::Meta& meta_of(const Edge& edge) { return edge.node->outputs[edge.input_nr]; }
template <class List>
bool has_edge(const List& edges, const Edge& wanted) {
  for (const Edge& edge : edges)
    if (edge.node == wanted.node && edge.input_nr == wanted.input_nr) return true;
  return false;
}

// The tape of a region: from its results down to what is older than it.
class RegionTape {
 public:
  // `written`: tensors of the outside that have a place among the roots, behind the results.
  RegionTape(RegionRecorder& recorder, const std::vector<Tensor>& written);
  uint64_t first_sequence() const { return start->sequence + 1; }

  uint64_t region;
  Ref<RegionStart> start;
  std::vector<Edge> roots;  // by result; null where none
  std::vector<Edge> ends;   // of the outside

 private:
  void visit(const Edge& root, std::unordered_set<Node*>& seen);
};

ir::Node& append_cond(Tracer& tracer, const ir::Value& pred, const Captures& captures,
                      std::unique_ptr<ir::Graph> yes, std::unique_ptr<ir::Graph> no);

struct LoopInputs {
  ir::Value pred, trips;  // null for none
  std::vector<ir::Value> carried, slices;
  int64_t length;
  bool reverse;
};
ir::Node& append_loop(Tracer& tracer, const LoopInputs& loop, const Captures& captures,
                      std::unique_ptr<ir::Graph> body);

// The tracer that the backward of `op` is recorded with. Throws where there is none, or on create_graph.
Tracer& tracer_of_backward(const char* op);
void want_no_writes(const TracedRegion& traced, const char* op);

// The tape's node of a cond or a loop.
class ControlNode : public Node {
 public:
  ControlNode(Tracer& tracer, ir::Node& node);

 protected:
  void check_kept() const;
  ir::Node* node_;  // null once it has been released
};

}  // namespace tw::eager
