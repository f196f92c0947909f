// The text form of a graph. What is printed reads back to the same graph, and prints the same again.
//
//   graph "step" {
//     input %0 "x" : float32[64, 784]
//     variable %1 "fc1.weight" : float32[512, 784]
//     constant %2 "mask" : bool[8, 8]
//     number $0 "lr"
//     %3 = transpose(%1, dim0=0, dim1=1) : float32[784, 512] in "fc1" at "train.py:12"
//     %4, %5 = dropout_of(%0, p=0.1) draw 3 : float32[64, 784], bool[64, 784]
//     %6 = cat([%0, %4]) : float32[128, 784]
//     %7, %8 = lion_step([%1], [%1], [%1], lr=$0:0.1, beta1=0.9, ...) : float32[512, 784], float32[512, 784]
//     assign %1 = %7
//     return %3, %6
//     draws 4
//   }
//
// Behind its name stands the device of a graph that runs elsewhere than on the CPU: graph "step" on "cuda:0"
// {. The inputs of a node come first, in the order of the op's schema, None where an optional one is absent;
// attributes follow by name, those that equal their default left out. Behind the type of a value stands its
// layout, where it has one: float32[8, 4] @cpu[[0, 1], [2, 3]] (S(0), B). A lifted number ($0) stands where
// the attribute or the item of a list would, with the value that it had when the graph was made ($0:0.1)
// unless that is 1: inference may look at it. `in` is the path of the module, `at` the user's line. Values
// and numbers need no order beyond being defined before use, and # starts a comment: printing numbers anew
// and drops comments.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tw::ir {

std::string print_graph(Graph& graph);  // gives all values their numbers
// Throws kValue with line and column, what was wanted and what was found; also where a stated type is not the
// inferred one. What was parsed still has to pass verify().
std::unique_ptr<Graph> parse_graph(std::string_view text);

// One node as print_graph writes it, with the numbers that its values have (%? for those that have none).
std::string node_text(const Graph& graph, const Node& node);
std::string type_text(DType dtype, const Dims& sizes);  // float32[2, 3]

}  // namespace tw::ir
