// Records what the front end does instead of doing it. While a thread has a tracer (`modes().tracer`),
// dispatch appends nodes to its graph where it would launch kernels; everything else, views, in-place rules,
// tape and backward, runs as in eager mode, on tensors whose storages hold values of the graph instead of
// bytes.
//
// Tensors of the outside that the program touches become variables of the graph; those that the host fills
// while it is traced become constants.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "eager/generator.h"
#include "eager/global.h"
#include "eager/node.h"
#include "eager/symbolic_memory.h"
#include "eager/tensor.h"
#include "eager/traced_device.h"

namespace tw::eager {

// What a traced program does to the gradient of a leaf.
struct GradChange {
  Tensor leaf;
  Tensor before;      // .grad when the trace began
  bool read = false;  // the program saw whether there was one
  Tensor after;       // null: none
};

// A part of a trace with a graph of its own, which reads the values around it as if they were its own; see
// control.h for what becomes of it. What it does to tensors of the outside is undone when it ends.
struct TracedRegion {
  struct Write {  // to a storage of the outside
    Ref<Storage> storage;
    ir::Value before, after;  // of the whole, around and in the region
  };
  std::unique_ptr<ir::Graph> graph;
  uint64_t id = 0;
  struct History {  // of a tensor of the outside that it wrote to: what its tape ended with
    Tensor base;
    Edge after;
  };
  std::vector<ir::Value> results;
  std::vector<Write> writes;
  std::vector<History> histories;
};

// A variable that is the memory of an argument: bound in every run.
struct Bound {
  int variable;
  int argument;
  bool whole;  // the argument's storage from its start; else the argument alone
};

// Says where in the user's code this thread is.
class OriginSource {
 public:
  virtual ~OriginSource() = default;
  // A number in `strings`; 0 where that is not known.
  virtual int here(ir::StringTable& strings) = 0;
};

class Tracer {
 public:
  explicit Tracer(std::unique_ptr<OriginSource> origins = nullptr);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  ir::Graph& graph() { return *graph_; }
  std::unique_ptr<ir::Graph> take_graph() {
    graph_->place = {};
    return std::move(graph_);
  }

  // A tensor that stands for an argument like `like`.
  Tensor add_input(const std::string& name, const TensorImpl& like);
  // The function gets the next argument as it is, because it writes to memory that others see too: that of
  // other arguments or, with `fixed`, of tensors of the outside. Else its memory is bound in every run.
  void add_as_is(const Tensor& argument, bool fixed);
  // After the function has run: arguments that should have been added as they are, and whether fixed.
  std::vector<std::pair<int, bool>> entangled() const;
  // A 0-dim operand that ranks as a Python number, for number `number` of the graph.
  Tensor number_operand(int number, const Scalar& now);
  int add_number(const std::string& name);

  // ---- called by dispatch
  void launch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
              const void* attrs, std::span<Tensor> outputs);
  void view(const ir::OpDef& def, const TensorImpl& input, const void* attrs, const TensorImpl& result);
  Ref<Storage> make_storage(device::Device device, size_t size_bytes);
  void filled_by_host(const Ref<Storage>& storage) { device_.filled_by_host(storage); }
  // The same value, in memory of another device.
  Tensor moved(TensorImpl& tensor, device::Device device);
  // The user's line as errors have it: " (at train.py:12)"; empty where it is not known.
  std::string here();
  // Throws kNotImplemented for a second generator where the draws of a region are known only after a run.
  PhiloxKey next_draw(Generator& generator = default_generator());
  // Those that a run draws from, and for each draw of a graph or a region which of them.
  const std::vector<Ref<Generator>>& generators() const { return generators_; }
  const std::vector<int>& drawn_from(const ir::Graph& graph) { return drawn_from_[&graph]; }
  // Gives a node with regions the draws that these take.
  void take_draws(ir::Node& node);
  // Before .grad of a leaf is read or changed.
  void touch_grad(TensorImpl& leaf, bool read);
  // The tensor stands for a global one, which lies so. Decided: as the user says, the value's layout then.
  void make_global(TensorImpl& tensor, const sbp::LayoutRef& layout, bool decided);
  // The next node of `def` takes these attributes from numbers of the graph.
  void lift_next(const ir::OpDef& def, std::vector<ir::Lifted> lifted) {
    lifted_op_ = &def;
    lifted_ = std::move(lifted);
  }
  std::vector<ir::Lifted> take_lifted(const ir::OpDef& def) {
    return &def == lifted_op_ ? std::exchange(lifted_, {}) : std::vector<ir::Lifted>();
  }
  // The path of the module that runs: nodes are recorded under it, and under the user's line.
  void set_module(const std::string& path) {
    graph_->place.module = graph_->strings.intern(path);
    at_->place = graph_->place;
  }
  const std::string& module() const { return graph_->strings[graph_->place.module]; }
  // Of a node of the tape: ops of its backward are recorded under the place of its forward.
  struct Position {
    ir::Place place;
    bool fixed = false;  // the line stays, whatever code runs
  };
  void remember_place(uint64_t sequence);
  Position enter_backward(uint64_t sequence);
  void leave_backward(const Position& before);

  // Values of all written variables are the older ones, those at mark(), where `condition` (a bool) holds.
  void mark();
  void keep_where(TensorImpl& condition);

  bool parts_taken = false;  // of a global tensor, to be local ones

  // ---- recomputation
  // The gradient that the node of the tape which runs now was given.
  Tensor gradient;
  int64_t draws() const { return at_->draws; }
  void set_draws(int64_t draws) { at_->draws = draws; }
  // The region that is recorded; 0: none.
  uint64_t region() const { return scopes_.empty() ? 0 : scopes_.back().id; }
  // What is recorded until end_again() repeats what was recorded before, in region `region` from draw
  // `first_draw` on. It reads what was there before through `after` the current gradient, so that it stays a
  // computation of its own.
  void begin_again(uint64_t region, int64_t first_draw);
  void end_again();

  // ---- regions
  // With `differentiates`, the number of a region that has ended, its tensors may be read, and those of the
  // one that it differentiates.
  // Nodes of its tape have higher numbers than `start`.
  void begin_region(const std::string& name, uint64_t start, uint64_t differentiates = 0);
  // Whether a node of the tape is older than the region that is recorded, which may be recorded again.
  bool is_around_region(uint64_t sequence) const {
    return !scopes_.empty() && sequence < scopes_.back().start;
  }
  // A tensor that stands for an input of the region that has begun.
  Tensor add_region_input(const std::string& name, DType dtype, const Dims& sizes);
  TracedRegion end_region(std::span<const Tensor> results);
  // The same where the region failed: as if it had not begun.
  void drop_region();
  // Leaves of the outside whose .grad is not what it was when the innermost region began, with what it was.
  std::vector<std::pair<Tensor, Tensor>> changed_grads() const;
  bool draws_in_regions = false;  // how many, is known when the program has run
  // The graph that is recorded into: a region's, or graph().
  ir::Graph& innermost() { return *at_; }
  // Writes the whole of a storage, as a region did.
  void write_whole(const Ref<Storage>& storage, ir::Value value);
  ir::Value read_whole(const Ref<Storage>& storage);
  // A tensor of the outside that holds a value.
  Tensor tensor_for(const ir::Value& value);

  // ---- at the end
  ir::Value value_of(TensorImpl& tensor);
  // The same, laid out as was decided of the tensor: what is written in place stays where it lies.
  ir::Value laid_out(TensorImpl& tensor);
  // Puts .grad of all touched leaves back and says what the program made of them.
  std::vector<GradChange> restore_grads();
  // Appends the assignments of written variables.
  void commit();
  // Storages made by the program that somebody outside still holds.
  std::vector<Ref<Storage>> escaped() const;
  // The tensors over one of them that stand for global ones. Throws kNotImplemented where one is a part of
  // it.
  std::vector<Tensor> globals_over(const Storage& storage) const;

  // Tensors behind graph().variables and graph().constants, in the same order.
  const std::vector<Tensor>& variables() const { return variables_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  // The argument that a tensor is; -1 for any other, views of arguments too.
  int input_of(const TensorImpl& tensor) const;
  bool input_written(int input) const;
  // Of the graph's inputs, in order: which arguments they are. Those that were written are none after
  // commit().
  const std::vector<int>& graph_inputs() const { return graph_inputs_; }
  const std::vector<Bound>& bound() const { return bound_; }
  // After commit(): the variable whose memory an argument is, -1 where it is none; and the tensor that stood
  // for it.
  int variable_of_input(int input) const { return inputs_[input].variable; }
  const TensorImpl& input(int input) const { return *inputs_[input].tensor; }
  int input_count() const { return static_cast<int>(inputs_.size()); }
  const Dims& input_strides(int input) const { return inputs_[input].tensor->strides; }
  // What a storage holds at the end, in the order of memory; null where nothing was ever written. Throws
  // kRuntime for one that was made in a region.
  ir::Value whole_of(const Storage& storage);

 private:
  struct Region {
    uint64_t id, start, differentiates;
    std::unique_ptr<ir::Graph> graph;
    // What storages of the outside held when the region first touched them.
    std::unordered_map<const Storage*, std::pair<Ref<Storage>, SymbolicMemory>> before;
    std::vector<const Storage*> touched;  // the same, in order
    // Tensors of the outside that it wrote to, with the end of their tape before.
    std::vector<std::pair<Tensor, Edge>> written;
    std::vector<std::pair<Tensor, Tensor>> grads;  // (leaf, .grad when it began)
    std::map<std::pair<DType, std::pair<uint64_t, bool>>, ir::Value> literals;
  };
  struct Input {
    Tensor tensor;         // what the function gets
    Ref<Storage> storage;  // of the argument; null for one of the trace
    bool gaps;             // in its memory
    bool fixed;
    int variable = -1;
  };
  void bind_written_inputs();
  void bind_variables();
  bool written(const Storage* storage) const;
  void find_line();
  SymbolicMemory& memory_of(TensorImpl& tensor);
  SymbolicMemory& capture(TensorImpl& tensor);
  SymbolicMemory& touch(const Ref<Storage>& storage, SymbolicMemory& memory);
  size_t depth_of(const Storage& storage) const;
  void note_write(TensorImpl& tensor);
  void check_grads() const;
  void restore(Region& region);
  void note_draw(int generator);
  void check_generators() const;
  ir::Value literal(const Scalar& value, DType dtype);
  ir::Value as_dtype(TensorImpl& number, DType dtype);
  void bind_output(TensorImpl& tensor, ir::Value value);
  ir::Value as_read_now(ir::Value value);

  struct Again {
    ir::Value gradient;
    ir::Graph* graph;
    int64_t draws;                              // that the graph had
    size_t scanned;                             // nodes of the graph that were looked at
    std::unordered_set<const ir::Node*> nodes;  // recorded since
    std::unordered_map<const ir::ValueImpl*, ir::Value> after;
  };

  std::unique_ptr<ir::Graph> graph_;
  TracedDevice device_;
  ir::Graph* at_;
  std::vector<Region> scopes_;  // that have begun and not ended, the outermost first
  uint64_t region_count_ = 0;
  std::unordered_map<const Storage*, uint64_t> region_of_;  // of storages that were made in one
  std::unordered_map<uint64_t, uint64_t> differentiated_;  // backward region → the one that it differentiates
  std::unordered_map<const Storage*, std::unique_ptr<SymbolicMemory>> memories_;
  std::vector<Ref<Storage>> made_;  // symbolic storages: kept, so that their addresses stay theirs
  Ref<TracedGlobals> globals_;
  std::vector<Input> inputs_;
  std::vector<int> graph_inputs_;
  std::vector<Bound> bound_;
  std::vector<Ref<Generator>> generators_;
  std::unordered_map<const ir::Graph*, std::vector<int>> drawn_from_;
  std::unordered_map<const Storage*, ir::Value> marked_;
  std::vector<Tensor> variables_, constants_;
  std::map<std::pair<DType, std::pair<uint64_t, bool>>, ir::Value> literals_;
  std::vector<GradChange> grads_;
  std::unordered_map<const TensorImpl*, size_t> grad_numbers_;
  std::unique_ptr<OriginSource> origins_;
  bool line_fixed_ = false;
  std::unordered_map<uint64_t, ir::Place> node_places_;
  std::vector<Again> again_;  // the innermost last
  const ir::OpDef* lifted_op_ = nullptr;
  std::vector<ir::Lifted> lifted_;
};

}  // namespace tw::eager
