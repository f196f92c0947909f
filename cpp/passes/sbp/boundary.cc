#include "passes/sbp/boundary.h"

#include <algorithm>
#include <optional>

namespace tw::passes {

namespace {

// Sums of more layouts are begun in one that is not pending.
constexpr size_t kFewLayouts = 16;

void add(Layouts& list, const sbp::Layout* layout) {
  if (std::ranges::find(list, layout) == list.end()) list.push_back(layout);
}

// With P(sum) on any of the axes where it is whole.
void add_pending(Layouts& list) {
  for (size_t i = 0; i < list.size() && list.size() <= kFewLayouts; i++)
    for (size_t axis = 0; axis < list[i]->sbp.size(); axis++) {
      if (list[i]->sbp[axis].kind != sbp::Kind::kBroadcast || list[i]->placement->shape[axis] < 2) continue;
      sbp::NdSbp sbp = list[i]->sbp;
      sbp[axis] = sbp::partial();
      add(list, sbp::layout(list[i]->placement, sbp).get());
    }
}

// All balanced ones, where they are few: what every iteration wants otherwise than it comes is boxed once.
void add_splits(Layouts& list, const sbp::PlacementRef& placement, size_t rank) {
  std::vector<sbp::NdSbp> all{{}};
  for (size_t axis = 0; axis < placement->shape.size(); axis++) {
    std::vector<sbp::NdSbp> longer;
    for (const sbp::NdSbp& one : all)
      for (size_t dim = 0; dim <= rank; dim++) {
        longer.push_back(one);
        longer.back().push_back(dim == rank ? sbp::broadcast() : sbp::split(static_cast<int64_t>(dim)));
      }
    if (longer.size() > kFewLayouts) return;
    all = std::move(longer);
  }
  for (const sbp::NdSbp& one : all) add(list, sbp::layout(placement, one).get());
}

// That of parts along dim 0, from that of the whole (by = -1), or the other way round; null: there is none.
const sbp::Layout* shifted(const sbp::Layout& layout, int by) {
  sbp::NdSbp sbp = layout.sbp;
  for (sbp::Sbp& one : sbp) {
    if (one.kind != sbp::Kind::kSplit) continue;
    if (one.dim + by < 0) return nullptr;
    one.dim += by;
  }
  return sbp::layout(layout.placement, sbp).get();
}

bool fits(const sbp::Layout& layout, const Dims& sizes) {
  try {
    sbp::check_layout(layout, sizes, "");
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

const sbp::Layout* broadcast_on(const sbp::PlacementRef& placement) {
  return sbp::layout(placement, sbp::NdSbp(placement->shape.size())).get();
}

std::vector<Candidate> boundary_candidates(const FlatNode& flat, const std::vector<Layouts>& layouts,
                                           const sbp::Layout* carried, const sbp::PlacementRef& placement) {
  Layouts possible;
  if (carried) {
    possible = {carried};
  } else {
    for (size_t i = 0; i < flat.inputs.size(); i++)
      for (const sbp::Layout* layout : layouts[i])
        if (layout->placement == placement) add(possible, layout);
    add(possible, broadcast_on(placement));
    if (flat.partner >= 0 && is_float(flat.outputs[0]->dtype)) add_pending(possible);
    const bool loops = flat.kind == FlatKind::kEnter && flat.outputs.size() == 1;
    if (loops && flat.partner < 0 && !flat.shifted)
      add_splits(possible, placement, flat.outputs[0]->sizes.size());
  }
  std::vector<Candidate> candidates;
  for (const sbp::Layout* layout : possible) {
    const sbp::Layout* out = flat.shifted ? shifted(*layout, flat.kind == FlatKind::kEnter ? -1 : 1) : layout;
    if (!out || !fits(*layout, (*flat.inputs[0])->sizes) || !fits(*out, flat.outputs[0]->sizes)) continue;
    Candidate candidate;
    candidate.layouts.assign(flat.inputs.size(), layout);
    candidate.layouts.insert(candidate.layouts.end(), flat.outputs.size(), out);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace tw::passes
