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

// Null for a local tensor.
sbp::PlacementRef placement_of(const TensorImpl& tensor);
// The tensor stands for a global one there, however it will lie; null: it stays local.
void place_in_trace(Tracer& tracer, TensorImpl& tensor, const sbp::PlacementRef& placement);
// Where the two lie of which one becomes the other, as results of two branches do. What is made from nothing
// goes with any placement. Throws kPlacement where they differ.
sbp::PlacementRef common_placement(const char* op, const char* what, const Tensor& a,
                                   const ir::Value& value_of_a, const Tensor& b, const ir::Value& value_of_b);

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
  bool reverse, parts = false;
};
ir::Node& append_loop(Tracer& tracer, const LoopInputs& loop, const Captures& captures,
                      std::unique_ptr<ir::Graph> body);

// The tracer that the backward of `op` is recorded with. Throws where there is none.
Tracer& tracer_of_backward(const char* op);
void want_no_writes(const TracedRegion& traced, const char* op);

// The tape's node of a cond or a loop. One that is recorded while the backward of another runs, to be
// differentiated again, reads what the regions of that one made: the gradients that this leads to arrive at
// that one, at outputs which it gets for them.
class ControlNode : public Node {
 public:
  // `forward`: the one that it is the backward of, or null. Its tapes begin behind `first_sequence`.
  ControlNode(Tracer& tracer, ir::Node& node, Ref<ControlNode> forward, uint64_t first_sequence);

  // The place of a gradient on the outside: where `end` belongs to the tape of region `region` of this node,
  // or of those that it differentiates, an output of that one.
  Edge outer_edge(size_t region, const Edge& end);

 protected:
  bool holds(const Edge& edge) const;
  // A new output, of a value of region `region`.
  virtual void add_inner_output(size_t region, const Edge& edge) = 0;
  // Throws kRuntime where it has been released, or what it reads has.
  void check_kept() const;
  // Region `region` of this node, then of those that it differentiates.
  std::vector<ForwardRegion> forward_regions(size_t region) const;

  ir::Node* node_;  // null once it has been released
  Ref<ControlNode> forward_;

 private:
  uint64_t first_sequence_;
  std::vector<std::pair<size_t, Edge>> inner_edges_;  // (region, edge in it), by inner output
  std::vector<uint32_t> inner_outputs_;
};

}  // namespace tw::eager
