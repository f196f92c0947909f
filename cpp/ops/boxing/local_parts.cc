// take_part: the part that one rank has of a global value, as a local one. join_parts: the way back; its
// inputs are the parts of the ranks that this process has, those of others are known to them alone. Both are
// gone once a graph is cut into those of the processes: a part is what it is.
#include "ops/boxing/local_parts.h"

#include <algorithm>

#include "ir/emitter.h"
#include "ir/layouts.h"

namespace tw::ops {

using namespace ir;

namespace {

sbp::LayoutRef layout_of(const std::string& text, const Dims& size, const char* op) {
  TextLexer lexer(text);
  sbp::LayoutRef layout = parse_layout(lexer);
  sbp::check_layout(*layout, size, op);
  return layout;
}

Dims part_of(const sbp::Layout& layout, const Dims& size, int64_t rank, const char* op) {
  const int64_t position = layout.placement->position_of(rank);
  TW_CHECK(position >= 0, kPlacement, op, ": rank ", rank, " is not on ", *layout.placement);
  return sbp::box_of(layout, size, position).sizes;
}

void infer_take_part(InferContext& c) {
  const auto& a = c.attrs<TakePartAttrs>();
  const sbp::LayoutRef layout = layout_of(a.layout, c.in(0).sizes, "take_part");
  c.output(c.in(0).dtype, part_of(*layout, c.in(0).sizes, a.rank, "take_part"));
}

void infer_join_parts(InferContext& c) {
  const auto& a = c.attrs<JoinPartsAttrs>();
  const Dims size(a.size.begin(), a.size.end());
  const sbp::LayoutRef layout = layout_of(a.layout, size, "join_parts");
  TW_CHECK(c.inputs.size() == a.ranks.size(), kValue, "join_parts: a part for each of the ranks ", a.ranks,
           " is wanted, got ", c.inputs.size());
  for (size_t i = 0; i < a.ranks.size(); i++) {
    const Dims wanted = part_of(*layout, size, a.ranks[i], "join_parts");
    TW_CHECK(c.in(i).sizes == wanted && c.in(i).dtype == a.dtype, kPlacement, "to_global: for ", *layout,
             " and a whole of shape ", size, " the part of rank ", a.ranks[i], " must have shape ", wanted,
             " and be ", a.dtype, ", got ", c.in(i).sizes, " of ", c.in(i).dtype);
  }
  c.output(a.dtype, size);
}

}  // namespace

void define_local_parts(OpRegistry& r) {
  r.op("take_part(Tensor input, *, str layout, int rank) -> Tensor", &TakePartAttrs::layout,
       &TakePartAttrs::rank)
      .doc("The part that a rank has of a global value.")
      .infer(infer_take_part)
      .no_grad("its backward is recorded with it, as join_parts")
      .sbp(sbp::broadcast_only)
      .cost(free_cost);
  r.op("join_parts(Tensor[] parts, *, str layout, int[] ranks, int[] size, dtype dtype) -> Tensor",
       &JoinPartsAttrs::layout, &JoinPartsAttrs::ranks, &JoinPartsAttrs::size, &JoinPartsAttrs::dtype)
      .doc("The global value whose parts these are.")
      .infer(infer_join_parts)
      .numbers(0)
      .no_grad("its backward is recorded with it, as take_part")
      .sbp(sbp::broadcast_only)
      .cost(free_cost);
}

}  // namespace tw::ops
