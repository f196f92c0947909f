// boxing_part: what one rank does in a boxing of a tensor of all ranks. It gives its part of the tensor as
// `source` lays it out, where it has one, and gets its part as `target` does, where it has one; else there is
// no input, or no output. All ranks of both placements run it, in the same `order` among others.
#include "ops/boxing/boxing_part.h"

#include "ir/emitter.h"
#include "ir/layouts.h"

namespace tw::ops {

using namespace ir;

namespace {

// The sizes of a rank's part; false where it has none.
bool part_of(const std::string& text, const BoxingPartAttrs& a, Dims* sizes) {
  TextLexer lexer(text);
  sbp::LayoutRef layout = parse_layout(lexer);
  sbp::check_layout(*layout, a.size, "boxing_part");
  int64_t position = layout->placement->position_of(a.rank);
  if (position < 0) return false;
  *sizes = sbp::box_of(*layout, a.size, position).sizes;
  return true;
}

void infer_boxing_part(InferContext& c) {
  const auto& a = c.attrs<BoxingPartAttrs>();
  Dims given, wanted;
  bool gives = part_of(a.source, a, &given), gets = part_of(a.target, a, &wanted);
  TW_CHECK(gives || gets, kPlacement, "boxing_part: rank ", a.rank, " is neither in ", a.source, " nor in ",
           a.target);
  TW_CHECK(c.has(0) == gives, kValue, "boxing_part: rank ", a.rank, gives ? " has a" : " has no", " part in ",
           a.source, ", got ", c.has(0) ? "an" : "no", " input");
  TW_CHECK(!gives || (c.in(0).sizes == given && c.in(0).dtype == a.dtype), kValue, "boxing_part: rank ",
           a.rank, " has a part of shape ", given, " of ", a.dtype);
  if (gets) c.output(a.dtype, wanted);
}

}  // namespace

void define_boxing_part(OpRegistry& r) {
  r.op("boxing_part(Tensor? input, *, str source, str target, int[] size, dtype dtype, int rank, int order) "
       "-> Tensor",
       &BoxingPartAttrs::source, &BoxingPartAttrs::target, &BoxingPartAttrs::size, &BoxingPartAttrs::dtype,
       &BoxingPartAttrs::rank, &BoxingPartAttrs::order)
      .doc("A rank's part of a boxing.")
      .infer(infer_boxing_part)
      .numbers(0)
      .no_grad("graphs are differentiated before they are cut into those of the ranks")
      .sbp(sbp::broadcast_only)
      .cost(copy_cost);
}

}  // namespace tw::ops
