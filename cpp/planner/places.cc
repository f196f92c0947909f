#include "planner/places.h"

#include "ir/layouts.h"
#include "ir/result_order.h"

namespace tw::planner {

bool same(const ir::Geometry& a, const ir::Geometry& b) {
  return a.offset == b.offset && a.sizes == b.sizes && a.strides == b.strides;
}

ir::Geometry row_major(const Dims& sizes) { return {sizes, contiguous_strides(sizes), 0}; }

bool see_window(const ir::Node& node, const Place& input, ir::Geometry* geometry) {
  static const int as_strided = ir::registry().get("as_strided").id;
  if (node.def->id != as_strided) {
    // Rules refuse by false or, those of ops that promise a view, by an error. Values may lie otherwise here
    // than the tensors of the trace did, so both mean a copy.
    try {
      return node.def->view(input.geometry, node.attrs.get(), geometry);
    } catch (const Error&) {
      return false;
    }
  }
  // It counts from the start of the value it is given, which must lie there in row-major order.
  if (!is_contiguous(input.geometry.sizes, input.geometry.strides)) return false;
  ir::Geometry start = input.geometry;
  start.offset = 0;
  node.def->view(start, node.attrs.get(), geometry);
  geometry->offset += input.geometry.offset;
  return true;
}

Dims result_strides(const Step& step, const ir::GraphValue& value) {
  SmallVector<Window, 6> windows;
  for (size_t i = 0; i < step.inputs.size(); i++)
    windows.push_back(step.absent[i]
                          ? Window{nullptr, nullptr}
                          : Window{&step.inputs[i].geometry.sizes, &step.inputs[i].geometry.strides});
  return ir::result_strides(*step.node->def, {windows.data(), windows.size()}, step.node->outputs[0]->sizes,
                            value.sizes);
}

}  // namespace tw::planner
