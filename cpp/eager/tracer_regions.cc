// Regions of a trace. Each keeps what the storages around it held when it first touched them, and puts that
// back in the end: to the outside, nothing has happened. What it made of them is handed to the caller.
#include "eager/modes.h"
#include "eager/node.h"
#include "eager/tracer.h"
#include "ir/control.h"

namespace tw::eager {

void Tracer::begin_region(const std::string& name, uint64_t start, uint64_t differentiates) {
  Region region{++region_count_, start, differentiates, std::make_unique<ir::Graph>(), {}, {}, {}, {}, {}};
  region.graph->name = name;
  region.graph->place = graph_->place;
  if (differentiates) differentiated_[region.id] = differentiates;
  for (const GradChange& change : grads_) region.grads.emplace_back(change.leaf, change.leaf->grad);
  at_ = region.graph.get();
  scopes_.push_back(std::move(region));
}

// How many of the open regions a storage was made in; one that was made in a region that is being
// differentiated counts as one of the outside.
size_t Tracer::depth_of(const Storage& storage) const {
  auto made = region_of_.find(&storage);
  if (made == region_of_.end()) return 0;
  for (size_t i = scopes_.size(); i-- > 0;)
    if (scopes_[i].id == made->second) return i + 1;
  for (const Region& region : scopes_)
    for (auto at = differentiated_.find(region.id); at != differentiated_.end();
         at = differentiated_.find(at->second))
      if (at->second == made->second) return 0;
  TW_FAIL(
      kRuntime,
      "a traced function: a tensor that was made inside a branch or a loop body is used, or kept, outside of "
      "it. What is needed there has to be returned by the branch, or carried by the loop");
}

// Before a region reads or writes a memory of the outside.
SymbolicMemory& Tracer::touch(const Ref<Storage>& storage, SymbolicMemory& memory) {
  if (scopes_.empty()) return memory;
  for (size_t i = depth_of(*storage); i < scopes_.size(); i++) {
    if (!scopes_[i].before.try_emplace(storage.get(), storage, memory).second) continue;
    scopes_[i].touched.push_back(storage.get());
    memory.forget_windows();
  }
  return memory;
}

void Tracer::note_write(TensorImpl& tensor) {
  Tensor base = tensor.view ? tensor.view->base : Tensor(&tensor);
  for (size_t i = depth_of(*tensor.storage); i < scopes_.size(); i++) {
    bool known = false;
    for (const auto& [other, before] : scopes_[i].written) known |= other == base;
    if (!known) scopes_[i].written.emplace_back(base, Edge{base->grad_fn, base->output_nr});
  }
}

// What regions are given, and give, lies where the program computes.
Tensor Tracer::add_region_input(const std::string& name, DType dtype, const Dims& sizes) {
  Tensor tensor = empty(sizes, dtype, device_.accelerator_or(modes().device));
  ir::GraphRef value = ir::make_graph_value(dtype, sizes);
  at_->inputs.push_back({name, value});
  bind_output(*tensor, value);
  return tensor;
}

std::vector<std::pair<Tensor, Tensor>> Tracer::changed_grads() const {
  const Region& region = scopes_.back();
  std::vector<std::pair<Tensor, Tensor>> changed;
  for (size_t i = 0; i < grads_.size(); i++) {
    const Tensor& before = i < region.grads.size() ? region.grads[i].second : grads_[i].before;
    if (grads_[i].leaf->grad != before) changed.emplace_back(grads_[i].leaf, before);
  }
  return changed;
}

// A region adds to gradients that are there before; see jit/regions.py.
void Tracer::check_grads() const {
  for (const auto& [leaf, before] : changed_grads())
    TW_FAIL(kNotImplemented,
            "a traced function: the backward of a branch or of a loop makes or replaces the .grad of a "
            "tensor of the "
            "outside, of shape ",
            leaf->sizes, ". Fill it with zeros before, so that gradients are added in place");
}

void Tracer::restore(Region& region) {
  for (auto& [base, before] : region.written) set_history(*base, before.node, before.input_nr);
  for (auto& [storage, kept] : region.before) *memories_.at(storage) = std::move(kept.second);
  scopes_.pop_back();
  at_ = scopes_.empty() ? graph_.get() : scopes_.back().graph.get();
  at_->place = graph_->place;
}

TracedRegion Tracer::end_region(std::span<const Tensor> results) {
  Region& region = scopes_.back();
  TracedRegion traced;
  traced.id = region.id;
  check_grads();
  for (const auto& [base, before] : region.written) {
    if (base->grad_fn == before.node && base->output_nr == before.input_nr) continue;
    traced.histories.push_back({base, {base->grad_fn, base->output_nr}});
  }
  for (const Tensor& result : results) traced.results.push_back(value_of(*result));
  for (const Storage* storage : region.touched) {
    auto& [kept, before] = region.before.at(storage);
    SymbolicMemory& memory = *memories_.at(storage);
    if (memory.version() == before.version()) continue;
    traced.writes.push_back({kept, before.read(before.base(), before.base_dtype()),
                             memory.read(memory.base(), memory.base_dtype())});
  }
  traced.graph = std::move(region.graph);
  restore(region);
  return traced;
}

void Tracer::drop_region() {
  Region& region = scopes_.back();
  for (size_t i = 0; i < grads_.size(); i++)
    grads_[i].leaf->grad = i < region.grads.size() ? region.grads[i].second : grads_[i].before;
  restore(region);
}

void Tracer::take_draws(ir::Node& node) {
  bool draws = false;
  for (const auto& region : node.regions) draws |= ir::draws_numbers(*region);
  if (!draws) return;
  node.region_draw = at_->draws;
  draws_in_regions |= ir::has_open_draws(node);
  check_generators();
  const std::vector<int> drawn = drawn_from_[node.regions[0].get()];
  for (int64_t i = 0; i < ir::draws_of(node); i++, at_->draws++)
    note_draw(draws_in_regions ? 0 : drawn[static_cast<size_t>(i)]);
}

ir::Value Tracer::read_whole(const Ref<Storage>& storage) {
  SymbolicMemory& memory = touch(storage, *memories_.at(storage.get()));
  return memory.read(memory.base(), memory.base_dtype());
}

void Tracer::write_whole(const Ref<Storage>& storage, ir::Value value) {
  SymbolicMemory& memory = touch(storage, *memories_.at(storage.get()));
  memory.write(memory.base(), memory.base_dtype(), std::move(value));
  storage->version++;
}

Tensor Tracer::tensor_for(const ir::Value& value) {
  Tensor tensor = empty(value->sizes, value->dtype, device_.accelerator_or(modes().device));
  bind_output(*tensor, value);
  return tensor;
}

}  // namespace tw::eager
