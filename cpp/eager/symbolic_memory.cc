#include "eager/symbolic_memory.h"

#include <algorithm>

#include "base/memory_order.h"

namespace tw::eager {

namespace {

bool same(const ir::Geometry& a, const ir::Geometry& b) {
  return a.offset == b.offset && a.sizes == b.sizes && a.strides == b.strides;
}

bool row_major(const ir::Geometry& geometry) {
  return geometry.offset == 0 && is_contiguous(geometry.sizes, geometry.strides);
}

// Applies ops to the graph, whatever emitter the thread has.
class Emitting {
 public:
  explicit Emitting(ir::Graph& graph) : emitter_(graph), before_(ir::Emitter::swap_current(&emitter_)) {}
  ~Emitting() { ir::Emitter::swap_current(before_); }
  Emitting(const Emitting&) = delete;
  Emitting& operator=(const Emitting&) = delete;

 private:
  ir::GraphEmitter emitter_;
  ir::Emitter* before_;
};

// Reaches every element of memory of `count` elements, without gaps.
bool covers(const ir::Geometry& geometry, int64_t count) {
  return geometry.offset == 0 && numel(geometry.sizes) == count && is_dense(geometry.sizes, geometry.strides);
}

// The dims of a dense geometry from the slowest to the fastest.
IntList memory_order(const ir::Geometry& geometry) {
  IntList order;
  for (size_t i = 0; i < geometry.sizes.size(); i++) order.push_back(static_cast<int64_t>(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return geometry.strides[a] > geometry.strides[b]; });
  return order;
}

ir::Geometry in_order(const ir::Geometry& geometry, const IntList& order) {
  ir::Geometry result;
  result.offset = geometry.offset;
  for (int64_t dim : order) {
    result.sizes.push_back(geometry.sizes[dim]);
    result.strides.push_back(geometry.strides[dim]);
  }
  return result;
}

IntList inverse(const IntList& order) {
  IntList result(order.size());
  for (size_t i = 0; i < order.size(); i++) result[order[i]] = static_cast<int64_t>(i);
  return result;
}

}  // namespace

void SymbolicMemory::define(const ir::Geometry& geometry, ir::Value value) {
  DType dtype = value->dtype;
  windows_.push_back({geometry, dtype, std::move(value), version_, -1, nullptr, nullptr, (*graph_)->place});
}

ir::GraphRef SymbolicMemory::define_leaf(const ir::Geometry& geometry, DType dtype) {
  bool permuted = !row_major(geometry);
  IntList order = memory_order(geometry);
  ir::Geometry ordered = permuted ? in_order(geometry, order) : geometry;
  if (permuted) ordered.strides = contiguous_strides(ordered.sizes);  // those of dims of size 1 may be any
  ir::GraphRef value = ir::make_graph_value(dtype, ordered.sizes);
  define(ordered, value);
  if (permuted) add_permute(inverse(order), geometry, dtype);
  return value;
}

void SymbolicMemory::forget_windows() {
  for (size_t i = 1; i < windows_.size(); i++) windows_[i].version = -1;
}

int SymbolicMemory::find(const ir::Geometry& geometry, DType dtype) const {
  for (size_t i = 0; i < windows_.size(); i++)
    if (windows_[i].dtype == dtype && same(windows_[i].geometry, geometry)) return static_cast<int>(i);
  return -1;
}

int SymbolicMemory::add_view(int parent, const ir::OpDef& def, const void* attrs,
                             const ir::Geometry& geometry, DType dtype) {
  windows_.push_back({geometry, dtype, nullptr, -1, parent, &def,
                      std::make_shared<const ir::AttrBox>(def.attr_type, attrs), (*graph_)->place});
  return static_cast<int>(windows_.size()) - 1;
}

// Of the first window.
int SymbolicMemory::add_permute(const IntList& dims, const ir::Geometry& geometry, DType dtype) {
  static const ir::OpDef& permute = ir::registry().get("permute");
  ir::AttrBox attrs(permute.attr_type, permute.defaults());
  ir::write_attr(permute.schema.params[1].field, attrs.get(), dims, "permute", "dims");
  return add_view(0, permute, attrs.get(), geometry, dtype);
}

void SymbolicMemory::derive(const ir::Geometry& from, DType from_dtype, const ir::OpDef& def,
                            const void* attrs, const ir::Geometry& geometry, DType dtype) {
  if (find(geometry, dtype) < 0) add_view(find_or_derive(from, from_dtype), def, attrs, geometry, dtype);
}

// A window that no view op is known to have made (as_strided, views made by setting a geometry) is cut out of
// the whole by its strides, which needs the whole in the order of memory.
int SymbolicMemory::find_or_derive(const ir::Geometry& geometry, DType dtype) {
  int known = find(geometry, dtype);
  if (known >= 0) return known;
  int whole = 0;
  if (!row_major(windows_[0].geometry)) {
    const ir::Geometry& base = windows_[0].geometry;
    IntList order = memory_order(base);
    ir::Geometry ordered = in_order(base, order);
    TW_CHECK(row_major(ordered), kNotImplemented, "a traced function: a window of shape ", geometry.sizes,
             " on memory that is not dense (sizes ", base.sizes, ", strides ", base.strides, ")");
    whole = find(ordered, windows_[0].dtype);
    if (whole < 0) whole = add_permute(order, ordered, windows_[0].dtype);
  }
  TW_CHECK(dtype == windows_[0].dtype, kNotImplemented, "a traced function: a window of dtype ", dtype,
           " on memory of dtype ", windows_[0].dtype);
  static const ir::OpDef& as_strided = ir::registry().get("as_strided");
  ir::AttrBox attrs(as_strided.attr_type, as_strided.defaults());
  const auto& params = as_strided.schema.params;
  ir::write_attr(params[1].field, attrs.get(), geometry.sizes, "as_strided", "size");
  ir::write_attr(params[2].field, attrs.get(), geometry.strides, "as_strided", "stride");
  ir::write_attr(params[3].field, attrs.get(), geometry.offset, "as_strided", "storage_offset");
  return add_view(whole, as_strided, attrs.get(), geometry, dtype);
}

const ir::Value& SymbolicMemory::refresh(int index) {
  if (windows_[index].version != version_) {
    ir::Value parent = refresh(windows_[index].parent);
    Window& window = windows_[index];
    ir::Node& node = (*graph_)->append(*window.def, std::span(&parent, 1), {}, window.attrs->get());
    node.module = window.place.module;
    node.origin = window.place.origin;
    window.value = node.outputs[0];
    window.version = version_;
  }
  return windows_[index].value;
}

ir::Value SymbolicMemory::read(const ir::Geometry& geometry, DType dtype) {
  return refresh(find_or_derive(geometry, dtype));
}

void SymbolicMemory::write(const ir::Geometry& geometry, DType dtype, ir::Value value) {
  int index = find_or_derive(geometry, dtype);
  if (index != 0) {
    TW_CHECK(dtype == windows_[0].dtype, kNotImplemented, "a traced function: writing to a view of dtype ",
             dtype, " of memory of dtype ", windows_[0].dtype);
    Emitting emitting(**graph_);
    ir::Value whole = refresh(0);
    const ir::Geometry& base = windows_[0].geometry;
    if (row_major(base) && covers(geometry, numel(base.sizes))) {
      whole = row_major(geometry) ? value : ir::op<"permute">(value, memory_order(geometry));
      if (whole->sizes != base.sizes) whole = ir::op<"reshape">(whole, base.sizes);
    } else if (row_major(base)) {
      whole = ir::op<"window_write">(whole, value, geometry.strides, geometry.offset);
    } else {
      IntList order = memory_order(base);
      whole =
          ir::op<"window_write">(ir::op<"permute">(whole, order), value, geometry.strides, geometry.offset);
      whole = ir::op<"permute">(whole, inverse(order));
    }
    windows_[0].value = std::move(whole);
  }
  version_++;
  windows_[0].version = version_;
  windows_[index].value = std::move(value);
  windows_[index].version = version_;
}

}  // namespace tw::eager
