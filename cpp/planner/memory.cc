// Stages, in one walk over the ordered nodes: (1) a view op's result is a window of its input's buffer, where
// the view rule knows one; else the input is copied first. (2) Any other result takes over the buffer of an
// input that nobody reads afterwards, where the kernel may write over it: in an op that writes an input, and
// element by element. (3) Else it gets a buffer: the graph's output, the variable that it is assigned to, or
// a range of the arena. Outputs and variables whose values lie elsewhere are copied at the end, before and
// after the commit.
//
// A crossing is in flight from its own step to the first that reads what it makes, to the commit, or until so
// many have begun after it: all that time what it reads and what it makes stays where it is.
#include "planner/memory.h"

#include <algorithm>
#include <deque>

#include "base/memory_order.h"
#include "ir/control.h"
#include "ir/layouts.h"
#include "ops/fused/by_rows.h"
#include "planner/devices.h"
#include "planner/places.h"
#include "planner/plan_graph.h"

namespace tw::planner {

namespace {

using plan::SegmentKind;

// More hold more memory; with fewer, computing waits for communication that is only a little late.
constexpr size_t kCrossingsInFlight = 4;

// Element i of the result depends on element i of the inputs alone: the kernel may write over one of them.
bool elementwise(const ir::OpDef& def) { return sbp::is_elementwise(def.sbp_rule); }

// All elements in row-major order.
bool is_reshape(const ir::OpDef& def) {
  const std::string& name = def.schema.name;
  return name == "reshape" || name == "view" || name == "squeeze" || name == "unsqueeze";
}

class Walk {
 public:
  Walk(ir::Graph& graph, const Order& order, std::span<const Dims> input_strides, const RegionNeeds& regions)
      : graph_(graph),
        order_(order),
        input_strides_(input_strides),
        regions_(regions),
        values_(graph.number()),
        devices_(regions.inside ? devices_of_region(graph) : find_devices(graph)) {
    layout_.steps.reserve(graph.nodes.size());
  }

  MemoryLayout run() {
    count_uses();
    place_leaves();
    for (size_t i = 0; i < order_.nodes.size(); i++) {
      if (i == order_.commit) begin_commit();
      ir::Node& node = *order_.nodes[i];
      if (node.def->view) {
        place_view(node);
      } else {
        place_op(node);
      }
    }
    if (order_.commit == order_.nodes.size()) begin_commit();
    for (const ir::Assignment& assignment : graph_.assignments) assign(assignment);
    layout_.ranks = devices_.ranks;
    return std::move(layout_);
  }

 private:
  struct About {
    int uses = 0;                    // in the whole graph
    int output = -1, variable = -1;  // the first that it is, or is assigned to
    bool reshaped = false;           // the output is not the value itself, but another shape of it
    const ir::Node* view = nullptr;  // an assigned value is this view of it
    Place place;                     // without a buffer before the node that makes it
  };
  About& about(const ir::ValueImpl& value) { return values_[static_cast<const ir::GraphValue&>(value).id]; }
  const About& about(const ir::ValueImpl& value) const {
    return values_[static_cast<const ir::GraphValue&>(value).id];
  }

  void count_uses() {
    for (auto& node : graph_.nodes)
      for (const ir::Value& input : node->inputs)
        if (input) about(*input).uses++;
    for (size_t i = 0; i < graph_.outputs.size(); i++) {
      About& value = about(*graph_.outputs[i]);
      value.uses++;
      if (value.output < 0) value.output = static_cast<int>(i);
      // What it is another shape of may lie in the output, too.
      for (const ir::Node* node = maker(graph_.outputs[i]); node && is_reshape(*node->def);
           node = maker(node->inputs[0])) {
        About& whole = about(*node->inputs[0]);
        if (whole.output >= 0) break;
        whole.output = static_cast<int>(i);
        whole.reshaped = true;
      }
    }
    for (const ir::Assignment& assignment : graph_.assignments) {
      About& value = about(*assignment.value);
      value.uses++;
      if (value.variable < 0) value.variable = assignment.variable;
      // What it is a view of may lie in the variable, too.
      for (const ir::Node* node = maker(assignment.value); node && node->def->view;
           node = maker(node->inputs[0])) {
        const ir::Node*& known = about(*node->inputs[0]).view;
        if (known) break;
        known = node;
      }
    }
  }

  static const ir::Node* maker(const ir::Value& value) { return ir::graph_value(value).node; }

  void place_leaves() {
    auto place_all = [&](std::vector<ir::Leaf>& leaves, SegmentKind kind) {
      for (size_t i = 0; i < leaves.size(); i++) {
        ir::GraphValue& value = *leaves[i].value;
        int buffer = add_buffer(value, kind, static_cast<int>(i));
        if (kind == SegmentKind::kVariable) variable_buffers_.push_back(buffer);
        layout_.leaves.push_back(at(buffer, value));
        if (kind == SegmentKind::kInput && i < input_strides_.size())
          layout_.leaves.back().geometry.strides = input_strides_[i];
        put(value, layout_.leaves.back());
      }
    };
    place_all(graph_.inputs, SegmentKind::kInput);
    place_all(graph_.variables, SegmentKind::kVariable);
    place_all(graph_.constants, SegmentKind::kConstant);
  }

  int add_buffer(const ir::ValueImpl& value, SegmentKind kind = SegmentKind::kArena, int index = 0) {
    return add_buffer(value.count() * size_of(value.dtype), devices_.of(value), kind, index);
  }
  int add_buffer(int64_t size_bytes, int device, SegmentKind kind = SegmentKind::kArena, int index = 0) {
    int now = static_cast<int>(layout_.steps.size());
    layout_.buffers.push_back({kind, index, size_bytes, device, now, now, 0});
    pending_.push_back(0);
    aloft_made_.push_back(0);
    return static_cast<int>(layout_.buffers.size()) - 1;
  }

  // A new value that fills the start of a buffer.
  Place at(int buffer, const ir::ValueImpl& value) {
    return {buffer, layout_.roots++, value.dtype, row_major(value.sizes)};
  }
  Place fresh(const ir::ValueImpl& value) { return at(add_buffer(value), value); }

  void put(const ir::ValueImpl& value, Place place) {
    pending_[place.buffer] += about(value).uses;
    about(value).place = std::move(place);
  }
  const Place& place_of(const ir::Value& value) const { return about(*value).place; }
  void consume(const ir::Node& node) {
    for (const ir::Value& input : node.inputs)
      if (input) pending_[place_of(input).buffer]--;
  }

  // Appends a step; its places are in use at it.
  void add_step(Step step) {
    bool crossing = step.node && order_.crossings.contains(step.node);
    if (step.node && order_.meetings.contains(step.node)) {
      layout_.meetings.insert(layout_.steps.size());
      while (!aloft_.empty()) land();
    }
    for (const Place& place : step.inputs)
      while (!crossing && place.buffer >= 0 && aloft_made_[place.buffer]) land();
    int now = static_cast<int>(layout_.steps.size());
    for (auto* places : {&step.inputs, &step.outputs})
      for (const Place& place : *places)
        if (place.buffer >= 0) layout_.buffers[place.buffer].last = now;
    layout_.steps.push_back(std::move(step));
  }
  void take_off(ir::Node& node) {
    aloft_.push_back({&node, layout_.steps.size() - 1});
    for (const Place& output : layout_.steps.back().outputs) aloft_made_[output.buffer] = 1;
  }
  void land() {
    Aloft one = aloft_.front();
    aloft_.pop_front();
    consume(*one.node);
    const Step& step = layout_.steps[one.step];
    int last = static_cast<int>(layout_.steps.size()) - 1;
    for (auto* places : {&step.inputs, &step.outputs})
      for (const Place& place : *places)
        layout_.buffers[place.buffer].last = std::max(layout_.buffers[place.buffer].last, last);
    for (const Place& output : step.outputs) aloft_made_[output.buffer] = 0;
    layout_.flights.push_back({one.step, layout_.steps.size()});
  }
  void add_copy(const Place& from, const Place& to, const ir::Node* cause) {
    add_step({nullptr, {from}, {to}, {false}, {}, {}, cause});
  }
  Place copied(const Place& from, const ir::Node* cause) {
    int device = layout_.buffers[from.buffer].device;
    int buffer = add_buffer(numel(from.geometry.sizes) * size_of(from.dtype), device);
    Place to{buffer, layout_.roots++, from.dtype, row_major(from.geometry.sizes)};
    add_copy(from, to, cause);
    return to;
  }

  void place_view(ir::Node& node) {
    const ir::GraphValue& output = *node.outputs[0];
    Place input = place_of(node.inputs[0]);
    ir::Geometry geometry;
    geometry.sizes = output.sizes;
    if (!see_window(node, input, &geometry)) {
      consume(node);
      input = copied(input, &node);
      geometry = {output.sizes, {}, 0};
      TW_CHECK(see_window(node, input, &geometry), kInternal, node.def->name(), ": no view of a dense copy");
    } else {
      consume(node);
    }
    put(output, {input.buffer, input.root, output.dtype, geometry});
  }

  void place_op(ir::Node& node) {
    Step step;
    step.node = &node;
    bool crossing = order_.crossings.contains(&node);
    if (crossing && aloft_.size() == kCrossingsInFlight) land();
    for (const ir::Value& input : node.inputs) {
      step.absent.push_back(!input);
      step.inputs.push_back(input ? operand(node, input) : Place());
    }
    if (!crossing) consume(node);
    step.mutated = ir::mutated_inputs(node);
    size_t own = node.outputs.size() - step.mutated.size();
    for (size_t i = 0; i < step.mutated.size(); i++) place_mutated(step, i, *node.outputs[own + i]);
    for (size_t i = 0; i < own; i++) {
      step.outputs.push_back(place_output(step, i));
      put(*node.outputs[i], step.outputs.back());
    }
    if (!node.regions.empty()) {
      const int device = node.outputs.empty() ? 0 : devices_.of(*node.outputs[0]);
      const std::vector<int64_t> one{0};
      auto needed = regions_.bytes.find(&node);
      const std::vector<int64_t>& sizes = needed == regions_.bytes.end() ? one : needed->second;
      for (size_t i = 0; i < sizes.size(); i++) {
        int buffer = add_buffer(sizes[i], sizes.size() == 1 ? device : static_cast<int>(i));
        step.outputs.push_back({buffer, layout_.roots++, DType::kUInt8, row_major({sizes[i]})});
      }
    }
    add_step(std::move(step));
    if (crossing) take_off(node);
  }

  // What regions and boxings read lies without gaps in row-major order.
  Place operand(const ir::Node& node, const ir::Value& input) {
    Place place = place_of(input);
    bool dense = is_contiguous(place.geometry.sizes, place.geometry.strides);
    bool wants = !node.regions.empty() || ir::is_boxing_part(*node.def);
    return !wants || dense ? place : copied(place, &node);
  }

  // A loop goes on from a carried value in place, where that is read by nobody else.
  static bool is_carried(const Step& step, size_t input, size_t output) {
    const ir::Node& node = *step.node;
    if (ir::control_kind(*node.def) != ir::ControlKind::kLoop) return false;
    ir::LoopShape shape = ir::loop_shape(node);
    if (static_cast<int>(output) >= shape.carried || input != output + shape.first_carried()) return false;
    const ir::Geometry& geometry = step.inputs[input].geometry;
    return alone(step, input) && is_contiguous(geometry.sizes, geometry.strides);
  }

  // May `place` of a variable or the arena be overwritten by the value that is made now?
  bool may_overwrite(const Place& place, const ir::GraphValue& by) const {
    if (pending_[place.buffer] > 0) return false;
    const Buffer& buffer = layout_.buffers[place.buffer];
    if (buffer.kind == SegmentKind::kArena) return true;
    return buffer.kind == SegmentKind::kVariable && committing_ && lands_in(buffer.index, by, place);
  }

  // Is `value` at `place`, or a view of it, what the variable is assigned, and where it lies?
  bool lands_in(int variable, const ir::ValueImpl& value, Place place) const {
    if (about(value).variable == variable) return same_place(place, variable);
    const ir::Node* view = about(value).view;
    ir::Geometry geometry;
    if (!view || !see_window(*view, place, &geometry)) return false;
    const ir::GraphValue& output = *view->outputs[0];
    geometry.sizes = output.sizes;
    return lands_in(variable, output, {place.buffer, place.root, output.dtype, geometry});
  }

  // An op that writes input `position`: where the old value is needed later, or its elements share memory, as
  // those of an expanded gradient do, it works on a copy.
  void place_mutated(Step& step, size_t number, const ir::GraphValue& output) {
    Place& input = step.inputs[step.mutated[number]];
    bool shared = false;
    for (size_t i = 0; i < step.inputs.size(); i++)
      shared |= static_cast<int>(i) != step.mutated[number] && step.inputs[i].buffer == input.buffer;
    shared |= may_overlap(input.geometry.sizes, input.geometry.strides);
    if (shared || !may_overwrite(input, output)) input = copied(input, step.node);
    step.becomes.push_back({input.buffer, layout_.roots++, input.dtype, input.geometry});
    put(output, step.becomes.back());
  }

  // The kernel reads nothing of the buffer, or exactly the elements that it writes.
  bool aligned(const Step& step, int buffer, const ir::Geometry& geometry) const {
    for (const Place& input : step.inputs)
      if (input.buffer == buffer && !(elementwise(*step.node->def) && same(input.geometry, geometry)))
        return false;
    return true;
  }

  // The kernel changes a part of its first input, which it may do in place. It may fail, so that only a
  // region does it to what it carries: to a variable of the program it would be written too early.
  bool updates(const Step& step, int buffer, const ir::Geometry& geometry) const {
    static const int window_write = ir::registry().get("window_write").id;
    static const int index_put = ir::registry().get("index_put").id;
    const int id = step.node->def->id;
    const Place& input = step.inputs[0];
    return (id == window_write || id == index_put) && regions_.inside && input.buffer == buffer &&
           same(input.geometry, geometry) && alone(step, 0);
  }

  Place place_output(const Step& step, size_t number) {
    const ir::GraphValue& value = *step.node->outputs[number];
    const ir::OpDef& def = *step.node->def;
    const About& known = about(value);
    if (known.variable >= 0 && committing_) {
      Place variable = at(variable_buffers_[known.variable], value);
      if (may_overwrite(variable, value) && (aligned(step, variable.buffer, variable.geometry) ||
                                             updates(step, variable.buffer, variable.geometry)))
        return variable;
    }
    if (known.output >= 0) {
      int buffer = add_buffer(value, SegmentKind::kOutput, known.output);
      Place place = at(buffer, value);
      if (!known.reshaped && !regions_.inside) place.geometry.strides = result_strides(step, value);
      return place;
    }
    static const int window_write = ir::registry().get("window_write").id;
    for (size_t i = 0; i < step.inputs.size(); i++) {
      const Place& input = step.inputs[i];
      if (step.absent[i] || layout_.buffers[input.buffer].kind != SegmentKind::kArena) continue;
      if (layout_.buffers[input.buffer].device != devices_.of(value)) continue;
      if (pending_[input.buffer] > 0 || input.dtype != value.dtype || taken(step, input.buffer)) continue;
      if (input.geometry.sizes != value.sizes || !is_dense(input.geometry.sizes, input.geometry.strides))
        continue;
      bool writes_into = def.id == window_write && i == 0 && step.inputs[1].buffer != input.buffer &&
                         is_contiguous(input.geometry.sizes, input.geometry.strides);
      bool takes = rows_over(*step.node, number) == static_cast<int64_t>(i) && alone(step, i);
      bool over = elementwise(def) && aligned(step, input.buffer, input.geometry);
      if (writes_into || takes || over || is_carried(step, i, number))
        return {input.buffer, layout_.roots++, input.dtype, input.geometry};
    }
    Place place = fresh(value);
    place.geometry.strides = result_strides(step, value);
    return place;
  }

  // The input whose memory a body of rows may give to an output; -1: none.
  static int64_t rows_over(const ir::Node& node, size_t output) {
    static const int by_rows = ir::registry().get("by_rows").id;
    return node.def->id == by_rows ? static_cast<const ops::ByRowsAttrs*>(node.attrs.get())->over[output]
                                   : -1;
  }
  static bool alone(const Step& step, size_t input) {
    for (size_t i = 0; i < step.inputs.size(); i++)
      if (i != input && step.inputs[i].buffer == step.inputs[input].buffer) return false;
    return true;
  }

  // Another output or a written input of this step lies there already.
  static bool taken(const Step& step, int buffer) {
    for (const Place& output : step.outputs)
      if (output.buffer == buffer) return true;
    for (int position : step.mutated)
      if (step.inputs[position].buffer == buffer) return true;
    return false;
  }

  // Everything that may fail is done: outputs that lie elsewhere are copied, and old values of variables that
  // an assignment still needs are taken out of the way.
  void begin_commit() {
    while (!aloft_.empty()) land();
    for (size_t i = 0; i < graph_.outputs.size(); i++) {
      const ir::Value& value = graph_.outputs[i];
      const Place from = place_of(value);
      const Buffer& buffer = layout_.buffers[from.buffer];
      pending_[from.buffer]--;
      if (buffer.kind == SegmentKind::kOutput && buffer.index == static_cast<int>(i)) continue;
      int target = add_buffer(*value, SegmentKind::kOutput, static_cast<int>(i));
      add_copy(from, at(target, *value), ir::graph_value(value).node);
    }
    for (const ir::Assignment& assignment : graph_.assignments) {
      Place& place = about(*assignment.value).place;
      if (place.buffer < 0) continue;  // made by a node of the commit
      const Place from = place;
      if (layout_.buffers[from.buffer].kind != SegmentKind::kVariable) continue;
      pending_[from.buffer]--;
      if (same_place(from, assignment.variable)) continue;
      place = copied(from, ir::graph_value(assignment.value).node);
    }
    layout_.commit = layout_.steps.size();
    committing_ = true;
  }

  bool same_place(const Place& place, int variable) const {
    const ir::GraphValue& value = *graph_.variables[variable].value;
    return place.buffer == variable_buffers_[variable] && same(place.geometry, row_major(value.sizes));
  }

  void assign(const ir::Assignment& assignment) {
    const Place from = place_of(assignment.value);
    if (same_place(from, assignment.variable)) return;
    const ir::GraphValue& value = *graph_.variables[assignment.variable].value;
    add_copy(from, at(variable_buffers_[assignment.variable], value), ir::graph_value(assignment.value).node);
  }

  ir::Graph& graph_;
  const Order& order_;
  std::span<const Dims> input_strides_;
  const RegionNeeds& regions_;
  MemoryLayout layout_;
  std::vector<About> values_;  // by number
  Devices devices_;
  std::vector<int> pending_;  // uses of a buffer's values that are still to come
  struct Aloft {
    ir::Node* node;
    size_t step;
  };
  std::deque<Aloft> aloft_;       // crossings in flight
  std::vector<char> aloft_made_;  // by buffer: one of them makes what is in it
  std::vector<int> variable_buffers_;
  bool committing_ = false;
};

}  // namespace

MemoryLayout lay_out(ir::Graph& graph, const Order& order, std::span<const Dims> input_strides,
                     const RegionNeeds& regions) {
  return Walk(graph, order, input_strides, regions).run();
}

int64_t live_peak(const MemoryLayout& layout, size_t* step) {
  std::vector<int64_t> change(layout.steps.size() + 2, 0);
  for (const Buffer& buffer : layout.buffers) {
    if (buffer.kind != SegmentKind::kArena) continue;
    int64_t size = (buffer.size_bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    change[buffer.first] += size;
    change[buffer.last + 1] -= size;
  }
  int64_t live = 0, peak = 0;
  for (size_t i = 0; i < change.size(); i++) {
    live += change[i];
    if (live <= peak) continue;
    peak = live;
    if (step) *step = i;
  }
  return peak;
}

}  // namespace tw::planner
