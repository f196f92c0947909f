// From a recorded region, which reads values around it, to one that sees nothing but its inputs.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/control.h"

namespace tw::eager {

// The values around a node that its regions read, each once.
struct Captures {
  size_t number_of(const ir::Value& value);
  std::vector<ir::Value> values;

 private:
  std::unordered_map<const ir::ValueImpl*, size_t> numbers_;
};

// A region of the forward, in a graph already, as its backward sees it.
class ForwardRegion {
 public:
  ForwardRegion(ir::Node& node, size_t region);

  bool holds(const ir::Value& value) const;
  // The operand that stands behind an input of the region, or null where it is another in each iteration.
  ir::Value operand_of(const ir::Value& input) const;
  // Of a loop: what an input is a part of; null for others.
  ir::Value whole_of(const ir::Value& input) const;
  bool is_input(const ir::Value& value) const { return inputs_.count(value.get()) > 0; }
  // May backward make it again, instead of being given it?
  bool is_cheap(const ir::Value& value);
  // The output of the node that holds a value of the region (of a loop, the stack of them); made where there
  // is none. Throws kRuntime for a loop without a bound.
  ir::Value kept(const ir::Value& value);

 private:
  bool is_invariant(const ir::Value& value);

  ir::Node& node_;
  size_t region_;
  bool loop_;
  std::unordered_set<const ir::Node*> nodes_;
  std::unordered_map<const ir::ValueImpl*, size_t> inputs_;
  std::unordered_map<const ir::ValueImpl*, bool> invariant_;
};

// Closes one region: afterwards its inputs are those that it had, then `slices()`, then the captures.
class RegionCloser {
 public:
  // `forward`: the regions that this one is the backward of, the nearest first.
  RegionCloser(ir::Graph& graph, Captures& captures, std::span<ForwardRegion> forward = {});
  // Puts `input`, an input of the region, in the place of a value of the outside.
  void stand_for(const ir::Value& value, const ir::Value& input) { known_[value.get()] = input; }
  void close();
  // Once all regions of the node are closed.
  void add_captures();
  const std::vector<ir::Value>& slices() const { return slices_; }

 private:
  ir::Value inside(const ir::Value& value);
  ir::Value make(const ir::Value& value);
  ir::Value made_in(ForwardRegion& forward, const ir::Value& value);
  ir::Value again(const ir::Value& value);
  ir::Value capture(const ir::Value& value);
  ir::Value slice(const ir::Value& whole);

  ir::Graph& graph_;
  Captures& captures_;
  std::span<ForwardRegion> forward_;
  std::unordered_set<const ir::ValueImpl*> own_;
  std::unordered_map<const ir::ValueImpl*, ir::Value> known_;
  std::vector<ir::Value> slices_;
  std::vector<ir::GraphRef> slice_inputs_, capture_inputs_;
};

// full(sizes, 0, dtype), appended.
ir::Value append_zeros(ir::Graph& graph, DType dtype, const Dims& sizes);

}  // namespace tw::eager
