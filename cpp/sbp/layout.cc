#include "sbp/layout.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "base/error.h"

namespace tw::sbp {

bool Layout::has_partial() const {
  return std::ranges::any_of(sbp, [](const Sbp& s) { return s.kind == Kind::kPartial; });
}

bool Layout::is_broadcast() const {
  return std::ranges::all_of(sbp, [](const Sbp& s) { return s.kind == Kind::kBroadcast; });
}

LayoutRef layout(const PlacementRef& placement, const NdSbp& sbp) {
  TW_CHECK(static_cast<int64_t>(sbp.size()) == placement->axes(), kPlacement, "sbp: one an axis of ",
           *placement, " is wanted, that is ", placement->axes(), ", got ", sbp.size(), ": ", sbp);
  for (const Sbp& s : sbp)
    if (s.kind == Kind::kSplit)
      TW_CHECK(s.dim >= 0 && s.unit >= 1, kPlacement,
               "sbp: a dim of at least 0 and a unit of at least 1 are ", "wanted, got ", s);
  static auto* mutex = new std::mutex;  // never destroyed: tensors may outlive every static object
  static auto* all = new std::map<std::pair<const Placement*, std::string>, LayoutRef>;
  std::lock_guard lock(*mutex);
  LayoutRef& known = (*all)[{placement.get(), name_of(sbp)}];
  if (!known) {
    auto made = make_ref<Layout>();
    made->placement = placement;
    made->sbp = sbp;
    known = std::move(made);
  }
  return known;
}

std::string name_of(const NdSbp& sbp) {
  if (sbp.size() == 1) return name_of(sbp[0]);
  std::string out = "(";
  for (const Sbp& s : sbp) out += (out.size() > 1 ? ", " : "") + name_of(s);
  return out + ")";
}

std::string name_of(const Layout& layout) { return cat(*layout.placement, ' ', name_of(layout.sbp)); }

Cut cut(const Sbp& split, int64_t length, int64_t parts, int64_t index) {
  if (!split.sizes.empty()) {
    int64_t total = std::accumulate(split.sizes.begin(), split.sizes.end(), int64_t{0});
    TW_CHECK(static_cast<int64_t>(split.sizes.size()) == parts && total == length, kPlacement, "sbp: ", split,
             " states ", split.sizes.size(), " parts of ", total, " elements, but ", parts, " devices share ",
             length);
    int64_t first = std::accumulate(split.sizes.begin(), split.sizes.begin() + index, int64_t{0});
    return {first, split.sizes[index]};
  }
  int64_t units = (length + split.unit - 1) / split.unit;
  int64_t each = units / parts, more = units % parts;
  auto point = [&](int64_t i) { return std::min((i * each + std::min(i, more)) * split.unit, length); };
  return {point(index), point(index + 1) - point(index)};
}

Box box_of(const Layout& layout, const Dims& sizes, int64_t position) {
  Box box{Dims(sizes.size()), sizes};
  Dims at = layout.placement->coordinates(position);
  for (size_t axis = 0; axis < layout.sbp.size(); axis++) {
    const Sbp& s = layout.sbp[axis];
    if (s.kind != Kind::kSplit) continue;
    TW_CHECK(s.dim < static_cast<int>(sizes.size()), kPlacement, "sbp: ", layout, " splits dim ", s.dim,
             ", which a tensor of shape ", sizes, " does not have");
    Cut part = cut(s, box.sizes[s.dim], layout.placement->shape[axis], at[axis]);
    box.first[s.dim] += part.first;
    box.sizes[s.dim] = part.size;
  }
  return box;
}

void check_layout(const Layout& layout, const Dims& sizes, const char* what) {
  try {
    for (int64_t position = 0; position < layout.placement->count(); position++)
      box_of(layout, sizes, position);
  } catch (const Error& error) {
    throw_error(error.kind(), cat(what, ": ", error.what()));
  }
}

bool same_parts(const Layout& a, const Layout& b, const Dims& sizes) {
  if (&a == &b) return true;
  if (a.placement != b.placement) return false;
  for (size_t axis = 0; axis < a.sbp.size(); axis++) {
    bool pending = a.sbp[axis].kind == Kind::kPartial || b.sbp[axis].kind == Kind::kPartial;
    if (pending && a.sbp[axis] != b.sbp[axis]) return false;
  }
  for (int64_t position = 0; position < a.placement->count(); position++)
    if (box_of(a, sizes, position) != box_of(b, sizes, position)) return false;
  return true;
}

}  // namespace tw::sbp
