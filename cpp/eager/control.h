// Control flow in a trace: regions that the front end has recorded become nodes `cond` and `loop`, on the
// tape too.
//
// Backward of such a node is another one: the tape of each region is run in a region of its own. What that
// reads of the forward region, and is not cheap to make again (views, literals; in loops, what depends on
// nothing that changes), becomes a further output of the forward node, in loops one part of a stack for each
// iteration. So numbers drawn inside are kept, not drawn again.
#pragma once

#include <optional>

#include "eager/node.h"
#include "eager/tracer.h"

namespace tw::eager {

// The end of a region's tape: what its inputs lead to. Nodes of the region have higher numbers.
class RegionStart final : public Node {
 public:
  void backward(std::vector<Tensor>&, std::vector<Tensor>&) override;
  std::string name() const override { return "RegionStart"; }
  // The next input of the region; on the tape where `wanted`.
  void add(TensorImpl& input, bool wanted);
};

// A region from its beginning to its end. Unless finish() has been called, it is as if it had not been.
class RegionRecorder {
 public:
  // `differentiates`: as Tracer::begin_region.
  RegionRecorder(Tracer& tracer, const std::string& name, uint64_t differentiates = 0);
  ~RegionRecorder() { drop(); }
  RegionRecorder(const RegionRecorder&) = delete;
  RegionRecorder& operator=(const RegionRecorder&) = delete;

  // With `on_tape` gradients flow to it: where the value that it stands for, of loops in any iteration, wants
  // one.
  Tensor add_input(DType dtype, const Dims& sizes, bool on_tape = false);
  // The next input stands for a global tensor on this placement; null: a local one.
  Tensor add_input(DType dtype, const Dims& sizes, bool on_tape, const sbp::PlacementRef& placement);
  // Of a loop's body, after the inputs: this tensor of the outside is written in it, with a gradient.
  void carry_history(const Tensor& base);
  // Before finish(): as Tracer::changed_grads.
  std::vector<std::pair<Tensor, Tensor>> changed_grads() const { return tracer_.changed_grads(); }
  // Returns the tensors of the outside that it has written to with a gradient, other than those.
  std::vector<Tensor> finish(std::vector<Tensor> results);
  // As if it had not begun; nothing after finish().
  void drop();
  // After finish(): a tensor of the outside as result number `at`.
  void insert_result(size_t at, const Tensor& outside);

  Ref<RegionStart> start;
  std::vector<Tensor> inputs;
  std::vector<char> on_tape;  // by input
  std::vector<Tensor> results;
  std::vector<Tensor> carried_histories;
  TracedRegion traced;  // once finished

 private:
  void put_histories_back();

  Tracer& tracer_;
  bool open_ = true;
  std::vector<Edge> histories_before_;
};

// The results of tw.cond: `branches` for true and false, finished. Throws kValue where they differ in type.
std::vector<Tensor> finish_cond(Tracer& tracer, const Tensor& pred, RegionRecorder& yes, RegionRecorder& no);

// A loop whose body has been recorded: its inputs stand for `carried`, then for parts of `slices`; its
// results are whether it goes on (with `pred`), the carried ones, and the parts of what is stacked.
struct LoopParts {
  Tensor pred;  // null: it runs `length` times
  std::vector<Tensor> carried, slices;
  int64_t length = -1;
  bool reverse = false;
  bool parts = false;  // of a batch; see ir/control.h
};
std::vector<Tensor> finish_loop(Tracer& tracer, const LoopParts& parts, RegionRecorder& body);

}  // namespace tw::eager
