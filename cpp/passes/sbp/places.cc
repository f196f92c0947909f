#include "passes/sbp/places.h"

#include "passes/sbp/flat.h"

namespace tw::passes {

namespace {

using ir::Value;

class Finder {
 public:
  explicit Finder(ir::Graph& graph) {
    for (auto* leaves : {&graph.inputs, &graph.variables, &graph.constants})
      for (const ir::Leaf& leaf : *leaves)
        if (leaf.value->layout) places_[leaf.value.get()] = leaf.value->layout->placement.get();
    size_t count = 0;
    nodes_ = flatten(graph, &count);
  }

  Places run() {
    do {
      changed_ = false;
      for (const FlatNode& flat : nodes_) visit(flat);
    } while (changed_);
    return std::move(places_);
  }

 private:
  void visit(const FlatNode& flat) {
    PlaceId place = nullptr;
    const FlatNode* partner = flat.partner < 0 ? nullptr : &nodes_[flat.partner];
    if (flat.kind == FlatKind::kLocal) {
      place = &kProcess;
    } else if (flat.kind != FlatKind::kBoxing) {
      for (const FlatNode* one : {&flat, partner})
        if (one && !place) place = place_of(*one);
    }
    for (const FlatNode* one : {&flat, partner})
      if (one)
        for (const ir::GraphValue* output : one->outputs)
          set(*output, output->layout ? output->layout->placement.get() : place);
  }

  // That of what it gives, or else of what it reads.
  PlaceId place_of(const FlatNode& flat) const {
    for (const ir::GraphValue* output : flat.outputs)
      if (auto at = places_.find(output); at != places_.end()) return at->second;
    for (const ir::GraphValue* output : flat.outputs)
      if (output->layout) return output->layout->placement.get();
    for (const Value* input : flat.inputs)
      if (auto at = input ? places_.find(input->get()) : places_.end(); at != places_.end())
        return at->second;
    return nullptr;
  }

  void set(const ir::GraphValue& value, PlaceId place) {
    if (place) changed_ |= places_.try_emplace(&value, place).second;
  }

  std::vector<FlatNode> nodes_;
  Places places_;
  bool changed_ = false;
};

}  // namespace

Places find_places(ir::Graph& graph) { return Finder(graph).run(); }

}  // namespace tw::passes
