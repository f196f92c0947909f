// Control flow: nodes that own regions, and what these have to look like.
//
//   %4 = cond(%0, [%1, %2]) then {
//     input %0 "" : float32[3]           one for each operand
//     ...
//     return %5
//   } else {
//     ...                                the same inputs and outputs
//   } : float32[3]
//
//   %5, %6 = loop(%0, None, [%1], [%2], [%3], length=8) body {
//     input %0 "" : float32[3]           carried: what the iteration before gave, first the operand
//     input %1 "" : float32[5]           slices: part i of an operand float32[8, 5]
//     input %2 "" : float32[3, 5]        captures: the operand, the same in every iteration
//     ...
//     return %7, %8, %9                  goes on? (where the loop has `pred`), carried, stacked
//   } : float32[3], float32[8, 3]        carried after the last iteration, stacked: a part from each
//
// A loop runs while its predicate, an operand for the first iteration and the body's first output for the
// others, is true; `trips` times where that is given; and `length` times at most, where this is not -1. With
// reverse=True the parts are taken and given from the last to the first. Parts of stacked outputs that no
// iteration has written are unset.
//
// With parts=True the iterations are the parts of a batch: all draw the same random numbers, each for its
// part of the whole that a `_part` in the body speaks of. There `_part` is that of the first iteration; the
// dim in which the whole is larger is the one that is cut.
#pragma once

#include <functional>
#include <span>

#include "ir/graph.h"

namespace tw::ir {

enum class ControlKind : uint8_t { kNone, kCond, kLoop };

ControlKind control_kind(const OpDef& def);
inline bool is_control(const OpDef& def) { return control_kind(def) != ControlKind::kNone; }
// What stands before each region in the text.
std::span<const char* const> region_names(const OpDef& def);

// How the inputs and outputs of a loop are cut.
struct LoopShape {
  bool pred, trips;
  int carried, slices, captures, stacked;
  int64_t length;
  bool reverse, parts;
  // Where they begin in the node's inputs.
  int first_carried() const { return 2; }
  int first_slice() const { return 2 + carried; }
  int first_capture() const { return 2 + carried + slices; }
};
LoopShape loop_shape(const Node& node);
// The starts of a loop's inputs.
SmallVector<int, 4> loop_starts(int carried, int slices, int captures);

// Outputs of a node with regions. Throws kValue where the regions do not fit the operands or each other.
SmallVector<Meta, 2> infer_control(const Node& node);

// Is input number `input` of a node one by which it decides, what to run or how often?
bool decides(const Node& node, size_t input);

// Is this region's graph one that draws random numbers, here or in regions of its own?
bool draws_numbers(const Graph& region);
// Is it known only after a run how many numbers its regions have drawn?
bool has_open_draws(const Node& node);
// How many draws a node takes from its graph: those that are known before, else one that stands for all.
int64_t draws_of(const Node& node);
// Does a node do more than make its outputs: draw random numbers in regions, raise errors, in one of them or
// as an op without outputs, or meet other ranks?
bool has_effects(const Node& node);
// The graph and all regions in it, outermost first.
void for_each_graph(Graph& graph, const std::function<void(Graph&)>& body);

}  // namespace tw::ir
