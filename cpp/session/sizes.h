// Graphs whose inputs may have other sizes: which dims vary, and how attributes follow from them.
//
// The graph itself stands at some sizes. Binding others writes the attributes anew, node by node, and infers
// the shapes of what the node gives; the structure of the graph stays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "session/formula.h"

namespace tw::session {

// A size with a name, between bounds, and the dims of inputs that have it.
struct SizeSymbol {
  struct Place {
    int input, dim;
  };
  std::string name;
  int64_t least, most;
  std::vector<Place> places;
};

// An attribute of a node, or an item of it, and the formula that gives it. r[0], r[1].. are the symbols, then
// the sizes of the node's inputs, one after the other.
struct SizeRule {
  int node;   // in the graph's order
  int param;  // index into the schema's parameters
  int item;   // of a list; -1: the attribute itself
  std::string formula;
};

struct Sizes {
  std::vector<SizeSymbol> symbols;
  std::vector<SizeRule> rules;

  bool empty() const { return symbols.empty(); }
  // {"symbols": [[name, least, most, [[input, dim]..]]..],
  //  "rules": [[node, attribute, 0 or the number of the item from 1 on, formula]..]}
  std::string json(const ir::Graph& graph) const;
  // Throws kValue where it does not fit the graph.
  static Sizes parse(const std::string& json, const ir::Graph& graph);

  // The symbols' values for inputs of these sizes, each of the rank of the graph's input. Throws kValue where
  // two places of a symbol differ or a bound is passed; `what` begins the message.
  std::vector<int64_t> values_of(std::span<const Dims* const> sizes, const std::vector<ir::Leaf>& inputs,
                                 const std::string& what) const;
  // float32[batch, 3]
  std::string type_text(const std::vector<ir::Leaf>& inputs, int input) const;
  // The name of a dim of an input; empty where it does not vary.
  const std::string& name_of(int input, int dim) const;
};

// Numbers that the formulas of a node may read.
std::vector<Scalar> size_features(std::span<const int64_t> symbols, std::span<const ir::Value> inputs);

// A graph that is `graph` at other sizes. Throws what inference and formulas throw.
std::unique_ptr<ir::Graph> bind_sizes(const ir::Graph& graph, const Sizes& sizes,
                                      std::span<const int64_t> values);

}  // namespace tw::session
