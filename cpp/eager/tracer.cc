#include "eager/tracer.h"

#include <algorithm>
#include <bit>

#include "base/memory_order.h"
#include "base/philox.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "ir/layouts.h"

namespace tw::eager {

namespace {

// Attributes of `full` for a 0-dim number.
ir::Node& append_number(ir::Graph& graph, const Scalar& value, DType dtype) {
  static const ir::OpDef& full = ir::registry().get("full");
  ir::AttrBox attrs(full.attr_type, full.defaults());
  const auto& params = full.schema.params;
  ir::write_attr(params[0].field, attrs.get(), IntList(), "full", "size");
  ir::write_attr(params[1].field, attrs.get(), value, "full", "fill_value");
  ir::write_attr(params[2].field, attrs.get(), dtype, "full", "dtype");
  return graph.append(full, {}, {}, attrs.get());
}

// A 0-dim value for tensors on any placements: brought to each once.
class OnPlacements {
 public:
  OnPlacements(ir::Graph& graph, ir::Value value, const TensorImpl& tensor)
      : graph_(graph), value_(std::move(value)), tensor_(tensor) {}

  ir::Value beside(const TensorImpl& other) {
    if (!tensor_.global || !other.global) return value_;
    const sbp::PlacementRef& placement = layout_of(other)->placement;
    if (placement == layout_of(tensor_)->placement) return value_;
    ir::Value& known = known_[placement.get()];
    if (!known) {
      static const ir::OpDef& boxing = ir::registry().get("boxing");
      ir::Node& node = graph_.append(boxing, {&value_, 1}, {}, boxing.defaults());
      node.outputs[0]->layout = sbp::layout(placement, sbp::NdSbp(placement->shape.size()));
      known = node.outputs[0];
    }
    return known;
  }

 private:
  ir::Graph& graph_;
  ir::Value value_;
  const TensorImpl& tensor_;
  std::unordered_map<const sbp::Placement*, ir::Value> known_;
};

}  // namespace

Tracer::Tracer(std::unique_ptr<OriginSource> origins)
    : graph_(std::make_unique<ir::Graph>()),
      device_(*graph_, [this] { return here(); }),
      at_(graph_.get()),
      globals_(make_ref<TracedGlobals>()),
      origins_(std::move(origins)) {}
Tracer::~Tracer() { restore_grads(); }

Tensor Tracer::add_input(const std::string& name, const TensorImpl& like) {
  device_.settle_unless_cpu(like.device(), name.c_str());
  Tensor tensor = make_ref<TensorImpl>();
  tensor->dtype = like.dtype;
  tensor->storage = make_ref<Storage>(like.device(), like.storage->size_bytes(), Storage::Symbolic());
  ir::Geometry geometry = like.geometry();
  geometry.offset = 0;
  bool gaps = !is_dense(geometry.sizes, geometry.strides);
  if (gaps) geometry.strides = contiguous_strides(geometry.sizes);
  tensor->set_geometry(geometry);
  tensor->requires_grad = like.requires_grad || like.grad_fn;
  tensor->inference = like.inference;
  tensor->storage->read_only = like.storage->read_only;
  auto memory = std::make_unique<SymbolicMemory>(&at_);
  ir::GraphRef value = ir::make_graph_value(like.dtype, like.sizes);
  memory->define(geometry, value);
  memories_[tensor->storage.get()] = std::move(memory);
  graph_inputs_.push_back(static_cast<int>(inputs_.size()));
  inputs_.push_back({tensor, like.storage->symbolic() ? Ref<Storage>() : like.storage, gaps, false});
  graph_->inputs.push_back({name, value});
  if (like.global) make_global(*tensor, layout_of(like), like.global->decided);
  return tensor;
}

void Tracer::make_global(TensorImpl& tensor, const sbp::LayoutRef& layout, bool decided) {
  device_.settle(*layout->placement);
  tensor.global = std::make_unique<GlobalPart>(GlobalPart{layout, {}, false, decided, {}});
  tensor.global->traced.enter(globals_, &tensor);
  if (decided) ir::graph_value(value_of(tensor)).layout = layout;
}

int Tracer::add_number(const std::string& name) {
  graph_->numbers.push_back(name);
  return static_cast<int>(graph_->numbers.size()) - 1;
}

Tensor Tracer::number_operand(int number, const Scalar& now) {
  find_line();
  DType dtype = now.kind() == DTypeKind::kInt ? DType::kInt64 : DType::kFloat64;
  ir::Node& node = append_number(*at_, now, dtype);
  node.lifted.push_back({1, -1, number});
  Tensor tensor = empty({}, dtype);
  bind_output(*tensor, node.outputs[0]);
  tensor->wrapped_number = true;
  return tensor;
}

Ref<Storage> Tracer::make_storage(device::Device device, size_t size_bytes) {
  made_.push_back(make_ref<Storage>(device, size_bytes, Storage::Symbolic()));
  if (!scopes_.empty()) region_of_[made_.back().get()] = scopes_.back().id;
  return made_.back();
}

std::string Tracer::here() {
  find_line();
  return graph_->place.origin ? cat(" (at ", graph_->strings[graph_->place.origin], ")") : "";
}

Tensor Tracer::moved(TensorImpl& tensor, device::Device device) {
  device_.settle_unless_cpu(device, "to");
  Tensor result = empty(tensor.sizes, tensor.dtype, device);
  if (is_dense(tensor.sizes, tensor.strides)) result->set_geometry({tensor.sizes, tensor.strides, 0});
  bind_output(*result, value_of(tensor));
  return result;
}

PhiloxKey Tracer::next_draw(Generator& generator) {
  auto known = std::find_if(generators_.begin(), generators_.end(),
                            [&](const Ref<Generator>& other) { return other.get() == &generator; });
  const auto number = static_cast<int>(known - generators_.begin());
  if (known == generators_.end()) generators_.push_back(Ref<Generator>(&generator));
  check_generators();
  note_draw(number);
  return {0, static_cast<uint64_t>(at_->draws++)};
}

void Tracer::check_generators() const {
  TW_CHECK(generators_.size() < 2 || !draws_in_regions, kNotImplemented,
           "a traced function: a branch or a loop body draws random numbers, how many is known only when it "
           "has run; "
           "so all have to come from one generator, got a second one");
}

// What is drawn again has its number.
void Tracer::note_draw(int generator) {
  std::vector<int>& drawn = drawn_from_[at_];
  drawn.resize(std::max<size_t>(drawn.size(), static_cast<size_t>(at_->draws) + 1));
  drawn[at_->draws] = generator;
}

SymbolicMemory& Tracer::memory_of(TensorImpl& tensor) {
  auto at = memories_.find(tensor.storage.get());
  if (at == memories_.end()) {
    if (!tensor.storage->symbolic()) return touch(tensor.storage, capture(tensor));
    at = memories_.emplace(tensor.storage.get(), std::make_unique<SymbolicMemory>(&at_)).first;
  }
  SymbolicMemory& memory = *at->second;
  if (memory.empty()) {  // read before it was written: tw.empty()
    static const ir::OpDef& full = ir::registry().get("full");
    ir::AttrBox attrs(full.attr_type, full.defaults());
    ir::write_attr(full.schema.params[0].field, attrs.get(), tensor.sizes, "full", "size");
    ir::write_attr(full.schema.params[1].field, attrs.get(), Scalar(0), "full", "fill_value");
    ir::write_attr(full.schema.params[2].field, attrs.get(), tensor.dtype, "full", "dtype");
    size_t depth = depth_of(*tensor.storage);
    ir::Graph& graph = depth == 0 ? *graph_ : *scopes_[depth - 1].graph;
    memory.define(tensor.geometry(), graph.append(full, {}, {}, attrs.get()).outputs[0]);
  }
  return touch(tensor.storage, memory);
}

namespace {

// The memory of a view of a global tensor is that of what it looks into.
TensorImpl& owner_of(TensorImpl& tensor) {
  if (!tensor.global) return tensor;
  TensorImpl& owner = tensor.view ? *tensor.view->base : tensor;
  auto count = static_cast<int64_t>(owner.storage->size_bytes()) / size_of(owner.dtype);
  bool whole = owner.offset == 0 && owner.contiguous && owner.count() == count;
  for (const Tensor& shard : owner.global->shards) whole &= shard->contiguous;
  TW_CHECK(whole, kNotImplemented, "a traced function: a global tensor of shape ", tensor.sizes, " ",
           where_is(tensor),
           " is read, the parts of which do not lie in row-major order, or which is a detached "
           "view; take contiguous() of it, or a clone, outside");
  return owner;
}

}  // namespace

// A tensor of the outside. The variable is its memory: in the order in which the dims lie there; as a vector
// where the tensor is a window on larger memory.
SymbolicMemory& Tracer::capture(TensorImpl& given) {
  TensorImpl& tensor = owner_of(given);
  if (tensor.global)
    device_.settle(*layout_of(tensor)->placement);
  else
    device_.settle_unless_cpu(tensor.device(), "a tensor of the outside");
  bool constant = device_.is_filled_by_host(*tensor.storage);
  auto memory = std::make_unique<SymbolicMemory>(&at_);
  int64_t count = static_cast<int64_t>(tensor.storage->size_bytes()) / size_of(tensor.dtype);
  ir::Geometry geometry = tensor.geometry();
  bool whole = geometry.offset == 0 && tensor.count() == count && is_dense(geometry.sizes, geometry.strides);
  if (!whole) geometry = {{count}, {1}, 0};
  ir::GraphRef value = memory->define_leaf(geometry, tensor.dtype);
  if (tensor.global) value->layout = layout_of(tensor);
  auto& leaves = constant ? graph_->constants : graph_->variables;
  auto& tensors = constant ? constants_ : variables_;
  leaves.push_back({cat(constant ? "constant" : "variable", leaves.size()), value});
  tensors.push_back(Tensor(&tensor));
  return *(memories_[tensor.storage.get()] = std::move(memory));
}

ir::Value Tracer::literal(const Scalar& value, DType dtype) {
  if (value.kind() == DTypeKind::kComplex) return append_number(*at_, value, dtype).outputs[0];
  uint64_t bits = value.is_integral() ? static_cast<uint64_t>(value.to_int())
                                      : std::bit_cast<uint64_t>(value.to_double());
  auto& literals = scopes_.empty() ? literals_ : scopes_.back().literals;
  ir::Value& known = literals[{dtype, {bits, value.is_integral()}}];
  if (!known) known = append_number(*at_, value, dtype).outputs[0];
  return known;
}

ir::Value Tracer::as_dtype(TensorImpl& number, DType dtype) {
  if (!number.storage->symbolic()) return literal(item(number), dtype);
  ir::Value value = value_of(number);
  if (value->dtype == dtype) return value;
  static const ir::OpDef& cast = ir::registry().get("cast");
  ir::AttrBox attrs(cast.attr_type, cast.defaults());
  ir::write_attr(cast.schema.params[1].field, attrs.get(), dtype, "cast", "dtype");
  return at_->append(cast, {&value, 1}, {}, attrs.get()).outputs[0];
}

ir::Value Tracer::value_of(TensorImpl& tensor) {
  if (tensor.wrapped_number && !tensor.storage->symbolic()) return literal(item(tensor), tensor.dtype);
  return memory_of(tensor).read(tensor.geometry(), tensor.dtype);
}

void Tracer::find_line() {
  if (origins_ && !line_fixed_) graph_->place.origin = origins_->here(graph_->strings);
  at_->place = graph_->place;
}

void Tracer::remember_place(uint64_t sequence) {
  find_line();
  node_places_.emplace(sequence, graph_->place);
}

Tracer::Position Tracer::enter_backward(uint64_t sequence) {
  Position before{graph_->place, line_fixed_};
  auto known = node_places_.find(sequence);
  if (known != node_places_.end()) {
    graph_->place = known->second;
    line_fixed_ = known->second.origin != 0;
    at_->place = graph_->place;
  }
  return before;
}

void Tracer::leave_backward(const Position& before) {
  graph_->place = at_->place = before.place;
  line_fixed_ = before.fixed;
}

void Tracer::bind_output(TensorImpl& tensor, ir::Value value) {
  auto at = memories_.find(tensor.storage.get());
  bool fresh = tensor.storage->symbolic() && (at == memories_.end() || at->second->empty()) &&
               depth_of(*tensor.storage) == scopes_.size();
  if (!fresh) {
    note_write(tensor);
    return memory_of(tensor).write(tensor.geometry(), tensor.dtype, std::move(value));
  }
  auto memory = std::make_unique<SymbolicMemory>(&at_);
  memory->define(tensor.geometry(), std::move(value));
  memories_[tensor.storage.get()] = std::move(memory);
}

void Tracer::launch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                    const void* attrs, std::span<Tensor> outputs) {
  TW_CHECK(!def.dynamic_sizes, kRuntime, def.name(),
           ": the size of its result depends on data, which a traced function cannot know");
  find_line();
  device_.settle_op(def, inputs, outputs, modes().device);
  SmallVector<ir::Value, 6> values;
  for (size_t i = 0; i < inputs.size(); i++) {
    const ir::Value& input = inputs[i];
    // Promotion has given most numbers a dtype. Those of ops that it leaves alone take the input's; so does
    // a parameter that it leaves out (the weight of lerp), but in float32 for half types, as its kernel has
    // it.
    bool promotes = def.promotion != ir::Promotion::kNone;
    bool promoted = promotes && (!starts.empty() || (def.promoted_params >> i & 1));
    bool as_input = input && input->wrapped_number && !promoted && inputs[0] && !inputs[0]->wrapped_number;
    auto dtype = [&] { return promotes && is_half(inputs[0]->dtype) ? DType::kFloat32 : inputs[0]->dtype; };
    values.push_back(!input     ? ir::Value()
                     : as_input ? as_read_now(as_dtype(tensor_of(input), dtype()))
                                : as_read_now(value_of(tensor_of(input))));
  }
  ir::Node& node = at_->append(def, {values.data(), values.size()}, starts, attrs);
  if (&def == lifted_op_) node.lifted = std::exchange(lifted_, {});
  size_t count = outputs.size();
  for (size_t i = 0; i < count; i++) bind_output(*outputs[i], node.outputs[i]);
  for (int i : ir::mutated_inputs(node)) {
    TensorImpl& written = tensor_of(inputs[i]);
    note_write(written);
    memory_of(written).write(written.geometry(), written.dtype, node.outputs[count++]);
  }
}

void Tracer::view(const ir::OpDef& def, const TensorImpl& input, const void* attrs,
                  const TensorImpl& result) {
  // as_strided looks at memory, not at its input: its window is found by its strides when it is read.
  static const int as_strided = ir::registry().get("as_strided").id;
  if (def.id == as_strided) return;
  find_line();
  SymbolicMemory& memory = memory_of(const_cast<TensorImpl&>(input));
  memory.derive(input.geometry(), input.dtype, def, attrs, result.geometry(), result.dtype);
}

void Tracer::touch_grad(TensorImpl& leaf, bool read) {
  auto [at, fresh] = grad_numbers_.try_emplace(&leaf, grads_.size());
  if (fresh) grads_.push_back({Tensor(&leaf), leaf.grad, read, nullptr});
}

void Tracer::begin_again(uint64_t first_region, int64_t first_draw) {
  TW_CHECK(first_region == region(), kNotImplemented,
           "checkpoint: what was computed in a branch or a loop body of a traced function is computed again "
           "only if "
           "its backward runs there too; put the checkpoint around the control flow, or leave it out");
  TW_CHECK(
      !draws_in_regions || at_->draws == first_draw, kNotImplemented,
      "checkpoint: a branch or a loop body of the traced function draws random numbers, so that those of the "
      "checkpoint cannot be drawn again; pass preserve_rng_state=False or leave it out");
  ir::Value now;
  if (gradient) now = value_of(*gradient);
  for (size_t i = at_->nodes.size(); !now && i-- > 0;)
    if (!at_->nodes[i]->inputs.empty() && !at_->nodes[i]->outputs.empty()) now = at_->nodes[i]->outputs[0];
  again_.push_back({now, at_, at_->draws, at_->nodes.size(), {}, {}});
  at_->draws = first_draw;
}

void Tracer::end_again() {
  Again& again = again_.back();
  again.graph->draws = std::max(again.graph->draws, again.draws);
  again_.pop_back();
}

// Control flow is never merged with what it repeats, so that what its regions read needs no mark.
ir::Value Tracer::as_read_now(ir::Value value) {
  if (again_.empty() || !again_.back().gradient || again_.back().graph != at_) return value;
  Again& again = again_.back();
  for (; again.scanned < at_->nodes.size(); again.scanned++)
    again.nodes.insert(at_->nodes[again.scanned].get());
  const ir::Node* node = ir::graph_value(value).node;
  if (node && (node->inputs.empty() || again.nodes.count(node))) return value;
  ir::Value& known = again.after[value.get()];
  if (!known) {
    static const ir::OpDef& after = ir::registry().get("after");
    const ir::Value inputs[] = {value, again.gradient};
    known = at_->append(after, inputs, {}, after.defaults()).outputs[0];
  }
  return known;
}

std::vector<GradChange> Tracer::restore_grads() {
  for (GradChange& change : grads_) {
    change.after = change.leaf->grad;
    change.leaf->grad = change.before;
  }
  grad_numbers_.clear();
  return std::move(grads_);
}

void Tracer::mark() {
  marked_.clear();
  for (const Tensor& variable : variables_) {
    SymbolicMemory& memory = *memories_.at(variable->storage.get());
    marked_[variable->storage.get()] = memory.read(memory.base(), memory.base_dtype());
  }
}

void Tracer::keep_where(TensorImpl& condition) {
  static const ir::OpDef& where = ir::registry().get("where");
  find_line();
  OnPlacements keep(*graph_, value_of(condition), condition);
  for (size_t i = 0; i < variables_.size(); i++) {
    SymbolicMemory& memory = *memories_.at(variables_[i]->storage.get());
    auto at = marked_.find(variables_[i]->storage.get());
    // What was met since then, was not written before.
    const ir::Value before = at == marked_.end() ? ir::Value(graph_->variables[i].value) : at->second;
    const ir::Value now = memory.read(memory.base(), memory.base_dtype());
    if (before == now) continue;
    const ir::Value inputs[] = {keep.beside(*variables_[i]), before, now};
    ir::Node& node = graph_->append(where, inputs, {}, nullptr);
    memory.write(memory.base(), memory.base_dtype(), node.outputs[0]);
  }
  marked_.clear();
}

void Tracer::commit() {
  for (size_t i = 0; i < variables_.size(); i++) {
    SymbolicMemory& memory = *memories_.at(variables_[i]->storage.get());
    if (!memory.written()) continue;
    graph_->assignments.push_back({static_cast<int>(i), memory.read(memory.base(), memory.base_dtype())});
  }
  bind_variables();
  bind_written_inputs();
}

std::vector<Ref<Storage>> Tracer::escaped() const {
  std::vector<Ref<Storage>> result;
  for (const Ref<Storage>& storage : made_)
    if (storage->use_count() > 1) result.push_back(storage);
  return result;
}

std::vector<Tensor> Tracer::globals_over(const Storage& storage) const {
  std::vector<Tensor> found;
  for (TensorImpl* tensor : globals_->tensors) {
    if (tensor->storage.get() != &storage) continue;
    auto count = static_cast<int64_t>(storage.size_bytes()) / size_of(tensor->dtype);
    TW_CHECK(tensor->contiguous && tensor->offset == 0 && tensor->count() == count, kNotImplemented,
             "a traced function: a view, of shape ", tensor->sizes,
             ", of a global tensor that was made in it is kept outside; keep a clone of it, or return it");
    found.emplace_back(tensor);
  }
  return found;
}

ir::Value Tracer::laid_out(TensorImpl& tensor) {
  const ir::Value value = value_of(tensor);
  if (!tensor.global || !tensor.global->decided || ir::graph_value(value).layout == layout_of(tensor))
    return value;
  static const ir::OpDef& boxing = ir::registry().get("boxing");
  ir::Node& node = graph_->append(boxing, {&value, 1}, {}, boxing.defaults());
  node.outputs[0]->layout = layout_of(tensor);
  return node.outputs[0];
}

int Tracer::input_of(const TensorImpl& tensor) const {
  for (size_t i = 0; i < inputs_.size(); i++)
    if (inputs_[i].tensor.get() == &tensor) return static_cast<int>(i);
  return -1;
}

ir::Value Tracer::whole_of(const Storage& storage) {
  auto at = memories_.find(&storage);
  if (at == memories_.end() || at->second->empty()) return nullptr;
  depth_of(storage);  // throws
  return at->second->read_flat();
}

bool Tracer::input_written(int input) const { return written(inputs_[input].tensor->storage.get()); }

}  // namespace tw::eager
