// What a storage holds while a program is recorded: not bytes, but values of the graph.
//
// Tensors are windows (sizes, strides, offset) on their storage, in a trace as in eager mode. The memory
// knows a value for each window that has been seen. A write through one window makes a new value of the
// whole; the other windows are out of date then and are derived anew, by the view ops that first made them,
// when they are next read.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "ir/view.h"

namespace tw::eager {

class SymbolicMemory {
 public:
  // Ops are recorded in the graph that the pointer leads to then; it outlives the memory.
  explicit SymbolicMemory(ir::Graph* const* graph) : graph_(graph) {}

  bool empty() const { return windows_.empty(); }
  bool written() const { return version_ > 0; }
  int version() const { return version_; }
  // Forgets the values of all windows but the first: what reads them derives them anew, in the graph at hand.
  void forget_windows();
  // The first window, which reaches every element that a later one may.
  void define(const ir::Geometry& geometry, ir::Value value);
  // The same for a dense tensor of the outside; the value returned has its dims in the order of memory.
  ir::GraphRef define_leaf(const ir::Geometry& geometry, DType dtype);
  // Records how a view op made a window from another one.
  void derive(const ir::Geometry& from, DType from_dtype, const ir::OpDef& def, const void* attrs,
              const ir::Geometry& geometry, DType dtype);
  ir::Value read(const ir::Geometry& geometry, DType dtype);
  void write(const ir::Geometry& geometry, DType dtype, ir::Value value);
  // The whole in the order of memory, as a vector.
  ir::Value read_flat() { return read({{numel(base().sizes)}, {1}, 0}, base_dtype()); }
  const ir::Geometry& base() const { return windows_[0].geometry; }
  DType base_dtype() const { return windows_[0].value->dtype; }

 private:
  struct Window {
    ir::Geometry geometry;
    DType dtype;
    ir::Value value;
    int version;
    int parent;  // -1 for the first
    const ir::OpDef* def;
    std::shared_ptr<const ir::AttrBox> attrs;
    ir::Place place;  // where the view was made
  };
  int find(const ir::Geometry& geometry, DType dtype) const;
  int add_permute(const IntList& dims, const ir::Geometry& geometry, DType dtype);
  int find_or_derive(const ir::Geometry& geometry, DType dtype);
  const ir::Value& refresh(int window);
  int add_view(int parent, const ir::OpDef& def, const void* attrs, const ir::Geometry& geometry,
               DType dtype);

  ir::Graph* const* graph_;
  std::vector<Window> windows_;
  int version_ = 0;
};

}  // namespace tw::eager
