// Layouts of a graph's values: how they are written, and what an op offers for them. What a whole graph has
// to keep is in verify.h.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "ir/text_lexer.h"
#include "sbp/signatures.h"

namespace tw::ir {

// "cpu[[0, 1], [2, 3]] (S(0), B)", as sbp::name_of writes it. Throws kValue with the place in the text.
sbp::LayoutRef parse_layout(TextLexer& lexer);

// The op that changes the layout of a value and nothing else.
bool is_boxing(const OpDef& def);
// A rank's part of one: the only op in which ranks meet.
bool is_boxing_part(const OpDef& def);
// From a global value to the part of a rank, a local one, and from parts to a global value.
bool is_take_part(const OpDef& def);
bool is_join_parts(const OpDef& def);

// A node's tensors: its inputs, null where absent, then its outputs.
std::vector<const GraphValue*> tensors_of(const Node& node);
std::vector<Dims> sizes_of(const std::vector<const GraphValue*>& tensors);
// What the node's op offers on one axis, for these tensors. What it writes in place keeps its layout. Nodes
// with regions, and boxing, which is no op on parts, offer B.
std::vector<sbp::Signature> signatures_of(const Node& node);

// What is made of parts: values that are another one in each process, and global at no place. Found in one
// walk, in regions too; the nodes that make such values are local, whatever else they read. Control flow is
// no such node: each of its operands and results is local or global by itself.
class LocalNodes {
 public:
  explicit LocalNodes(const Graph& graph) { add(graph); }
  bool any() const { return !values_.empty(); }
  bool makes(const Node& node) const;
  // Does it read whole what it reads: as a local node does, and join_parts?
  bool reads_whole(const Node& node) const { return is_join_parts(*node.def) || makes(node); }

 private:
  void add(const Graph& graph);
  void add_control(const Node& node);
  bool holds(const Value& value) const { return value && values_.contains(value.get()); }

  std::unordered_set<const ValueImpl*> values_;
};

}  // namespace tw::ir
