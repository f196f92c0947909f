// boxing_part: what one process does in a boxing of a tensor of all ranks. It gives the parts that its
// `ranks` have of the tensor as `source` lays it out, and gets those that they have as `target` does, each in
// the order of the placement; a rank that is not in a placement has none. All processes with ranks in either
// run it, in the same `order` among others.
#include "ops/boxing/boxing_part.h"

#include <algorithm>

#include "ir/emitter.h"
#include "ir/layouts.h"

namespace tw::ops {

using namespace ir;

namespace {

// The sizes of the parts that the ranks have.
std::vector<Dims> parts_of(const std::string& text, const BoxingPartAttrs& a) {
  TextLexer lexer(text);
  sbp::LayoutRef layout = parse_layout(lexer);
  sbp::check_layout(*layout, a.size, "boxing_part");
  std::vector<Dims> sizes;
  const std::vector<int64_t>& all = layout->placement->ranks;
  for (size_t position = 0; position < all.size(); position++)
    if (std::ranges::find(a.ranks, all[position]) != a.ranks.end())
      sizes.push_back(sbp::box_of(*layout, a.size, static_cast<int64_t>(position)).sizes);
  return sizes;
}

void infer_boxing_part(InferContext& c) {
  const auto& a = c.attrs<BoxingPartAttrs>();
  std::vector<Dims> given = parts_of(a.source, a), wanted = parts_of(a.target, a);
  TW_CHECK(!given.empty() || !wanted.empty(), kPlacement, "boxing_part: ranks ", a.ranks, " are neither in ",
           a.source, " nor in ", a.target);
  TW_CHECK(c.inputs.size() == given.size(), kValue, "boxing_part: ranks ", a.ranks, " have ", given.size(),
           " parts in ", a.source, ", got ", c.inputs.size());
  for (size_t i = 0; i < given.size(); i++)
    TW_CHECK(c.in(i).sizes == given[i] && c.in(i).dtype == a.dtype, kValue, "boxing_part: part ", i,
             " has shape ", given[i], " and is ", a.dtype, ", got ", c.in(i).sizes, " of ", c.in(i).dtype);
  for (const Dims& sizes : wanted) c.output(a.dtype, sizes);
}

}  // namespace

void define_boxing_part(OpRegistry& r) {
  r.op("boxing_part(Tensor[] inputs, *, str source, str target, int[] size, dtype dtype, int[] ranks, int "
       "order) "
       "-> Tensor",
       &BoxingPartAttrs::source, &BoxingPartAttrs::target, &BoxingPartAttrs::size, &BoxingPartAttrs::dtype,
       &BoxingPartAttrs::ranks, &BoxingPartAttrs::order)
      .doc("What one process does in a boxing.")
      .infer(infer_boxing_part)
      .numbers(0)
      .no_grad("graphs are differentiated before they are cut into those of the processes")
      .sbp(sbp::broadcast_only)
      .cost(copy_cost);
}

}  // namespace tw::ops
