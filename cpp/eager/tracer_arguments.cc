// Arguments of a traced function whose memory it writes: they become variables of the graph.
#include "eager/tracer.h"

namespace tw::eager {

// That of a global tensor is another one in every call only where nobody else sees it.
void Tracer::add_as_is(const Tensor& argument, bool fixed) {
  fixed |= argument->global != nullptr;
  inputs_.push_back({argument, argument->storage, false, fixed});
}

bool Tracer::written(const Storage* storage) const {
  auto at = memories_.find(storage);
  return at != memories_.end() && at->second->written();
}

std::vector<std::pair<int, bool>> Tracer::entangled() const {
  std::vector<std::pair<int, bool>> result;
  for (size_t i = 0; i < inputs_.size(); i++) {
    const Input& input = inputs_[i];
    if (!input.tensor->storage->symbolic()) continue;
    bool writes = written(input.tensor->storage.get());
    bool outside = memories_.count(input.storage.get());
    if (outside && (writes || written(input.storage.get()))) {
      result.push_back({static_cast<int>(i), true});
      continue;
    }
    bool shared = writes && input.gaps;
    for (size_t j = 0; j < inputs_.size(); j++)
      shared |= j != i && input.storage && inputs_[j].storage == input.storage &&
                (writes || written(inputs_[j].tensor->storage.get()));
    if (shared) result.push_back({static_cast<int>(i), false});
  }
  return result;
}

// Written arguments become variables. One whose dims do not lie in row-major order is a vector there, of
// which the value that stood for it is a view.
void Tracer::bind_written_inputs() {
  std::vector<ir::Leaf> kept;
  std::vector<int> kept_inputs;
  for (size_t i = 0; i < graph_->inputs.size(); i++) {
    ir::Leaf& leaf = graph_->inputs[i];
    const Input& input = inputs_[graph_inputs_[i]];
    SymbolicMemory& memory = *memories_.at(input.tensor->storage.get());
    if (!memory.written()) {
      kept.push_back(std::move(leaf));
      kept_inputs.push_back(graph_inputs_[i]);
      continue;
    }
    ir::GraphRef variable = leaf.value;
    ir::Value result;
    if (input.tensor->contiguous) {
      result = memory.read(memory.base(), memory.base_dtype());
    } else {
      result = memory.read_flat();
      variable = ir::make_graph_value(leaf.value->dtype, {leaf.value->count()});
      static const ir::OpDef& as_strided = ir::registry().get("as_strided");
      ir::AttrBox attrs(as_strided.attr_type, as_strided.defaults());
      const auto& params = as_strided.schema.params;
      ir::write_attr(params[1].field, attrs.get(), input.tensor->sizes, "as_strided", "size");
      ir::write_attr(params[2].field, attrs.get(), input.tensor->strides, "as_strided", "stride");
      ir::write_attr(params[3].field, attrs.get(), int64_t{0}, "as_strided", "storage_offset");
      const ir::Value flat = variable;
      ir::Node& node = graph_->append(as_strided, {&flat, 1}, {}, attrs.get());
      node.outputs[0] = leaf.value;
      leaf.value->node = &node;
      std::rotate(graph_->nodes.begin(), graph_->nodes.end() - 1, graph_->nodes.end());
    }
    int number = static_cast<int>(graph_->variables.size());
    bound_.push_back({number, graph_inputs_[i], false});
    inputs_[graph_inputs_[i]].variable = number;
    graph_->variables.push_back({leaf.name, variable});
    graph_->assignments.push_back({number, std::move(result)});
    variables_.push_back(nullptr);
  }
  graph_->inputs = std::move(kept);
  graph_inputs_ = std::move(kept_inputs);
}

// Variables that are the memory of arguments which the function got as they are.
void Tracer::bind_variables() {
  for (size_t v = 0; v < variables_.size(); v++) {
    const Storage* storage = variables_[v]->storage.get();
    for (size_t i = 0; i < inputs_.size(); i++) {
      Input& input = inputs_[i];
      if (input.tensor->storage.get() != storage) continue;
      input.variable = static_cast<int>(v);
      if (input.fixed || !variables_[v]) continue;
      bound_.push_back({static_cast<int>(v), static_cast<int>(i), true});
      variables_[v] = nullptr;
    }
  }
}

}  // namespace tw::eager
