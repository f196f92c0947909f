#include "sbp/signatures.h"

#include <algorithm>
#include <numeric>

#include "sbp/cutting.h"

namespace tw::sbp {

namespace {

bool same(const Signature& a, const Signature& b) { return a.inputs == b.inputs && a.outputs == b.outputs; }

// Whether the extremes that it leaves pending are of numbers that have an order.
bool in_order(const Signature& signature, const RuleContext& context) {
  auto is_extreme = [](const Sbp& s) { return s.kind == Kind::kPartial && s.reduce != ReduceOp::kSum; };
  for (size_t i = 0; i < context.input_dtypes.size(); i++)
    if (is_extreme(signature.inputs[i]) && is_complex(context.input_dtypes[i])) return false;
  for (size_t i = 0; i < context.output_dtypes.size(); i++)
    if (is_extreme(signature.outputs[i]) && is_complex(context.output_dtypes[i])) return false;
  return true;
}

// The same kind of layout, wherever a split is cut.
bool same_kind(const Sbp& a, const Sbp& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kSplit) return a.dim == b.dim;
  return a.kind == Kind::kBroadcast || a.reduce == b.reduce;
}

// One axis: do the layouts follow a signature, apart from cut points?
bool follows(const Signature& signature, std::span<const Layout* const> layouts, size_t axis) {
  for (size_t i = 0; i < layouts.size(); i++)
    if (layouts[i] && !same_kind(layouts[i]->sbp[axis], sbp_of(signature, i))) return false;
  return true;
}

// What the axes before `axis` leave of each tensor at some coordinates, and how this one cuts it.
class CutCheck {
 public:
  CutCheck(std::span<const Layout* const> layouts, std::span<const Dims> sizes)
      : layouts_(layouts), sizes_(sizes) {}

  // Are all splits of an axis cut at the same fractions, and at multiples of the units demanded?
  bool holds(const Signature& signature, const Placement& placement, size_t axis) const {
    for (int64_t position = 0; position < placement.count(); position++) {
      Dims at = placement.coordinates(position);
      if (!holds_at(signature, placement, axis, at)) return false;
    }
    return true;
  }

 private:
  struct Part {
    int64_t length;
    Cut cut;
  };

  Part part(size_t tensor, const Placement& placement, size_t axis, const Dims& at) const {
    const NdSbp& sbp = layouts_[tensor]->sbp;
    int dim = sbp[axis].dim;
    int64_t length = sizes_[tensor][dim];
    for (size_t before = 0; before < axis; before++)
      if (sbp[before].kind == Kind::kSplit && sbp[before].dim == dim)
        length = cut(sbp[before], length, placement.shape[before], at[before]).size;
    return {length, cut(sbp[axis], length, placement.shape[axis], at[axis])};
  }

  bool holds_at(const Signature& signature, const Placement& placement, size_t axis, const Dims& at) const {
    std::optional<Part> first;
    for (size_t i = 0; i < layouts_.size(); i++) {
      const Sbp& wanted = sbp_of(signature, i);
      if (!layouts_[i] || wanted.kind != Kind::kSplit) continue;
      Part one = part(i, placement, axis, at);
      int64_t end = one.cut.first + one.cut.size;
      if (one.cut.first % wanted.unit != 0 && one.cut.first != one.length) return false;
      if (end % wanted.unit != 0 && end != one.length) return false;
      int64_t units = (one.length + wanted.unit - 1) / wanted.unit;
      int64_t from = (one.cut.first + wanted.unit - 1) / wanted.unit;
      int64_t to = (end + wanted.unit - 1) / wanted.unit;
      // In units of the signature the parts are the same ones, or the same fractions of unlike counts.
      Part in_units{units, {from, to - from}};
      if (!first) first = in_units;
      if (from * first->length != first->cut.first * units) return false;
      if ((to - from) * first->length != first->cut.size * units) return false;
    }
    return true;
  }

  std::span<const Layout* const> layouts_;
  std::span<const Dims> sizes_;
};

}  // namespace

std::vector<Signature> rule_signatures(Rule rule, RuleContext context) {
  context.signatures.clear();
  if (rule) rule(context);
  std::vector<Signature> all;
  for (Signature& one : context.signatures)
    if (in_order(one, context) &&
        std::ranges::none_of(all, [&](const Signature& known) { return same(known, one); }))
      all.push_back(std::move(one));
  return all;
}

std::vector<Signature> signatures_of(Rule rule, RuleContext context) {
  std::vector<Signature> all{context.all_broadcast()};
  for (Signature& one : rule_signatures(rule, std::move(context)))
    if (!same(one, all[0])) all.push_back(std::move(one));
  return all;
}

std::optional<Signature> cut_like(const Signature& signature, std::span<const Dims> sizes, size_t tensor,
                                  const Layout& like, size_t axis) {
  const Sbp &lead = sbp_of(signature, tensor), &cut = like.sbp[axis];
  int64_t whole = sizes[tensor][lead.dim];
  bool before = std::any_of(like.sbp.begin(), like.sbp.begin() + static_cast<int64_t>(axis),
                            [&](const Sbp& s) { return is_split(s) && s.dim == lead.dim; });
  auto fractions = fractions_of(cut, lead, before ? kUnknownLength : whole, like.placement->shape[axis]);
  if (!fractions) return std::nullopt;
  // Stated sizes are parts of what axes before this one left, of each tensor the same fraction.
  int64_t left = std::accumulate(cut.sizes.begin(), cut.sizes.end(), int64_t{0});
  return cut_at(signature, *fractions, [&](size_t i, int dim) {
    return cut.sizes.empty() ? sizes[i][dim] : whole == 0 ? 0 : sizes[i][dim] * left / whole;
  });
}

bool offers(std::span<const Signature> signatures, std::span<const Layout* const> layouts,
            std::span<const Dims> sizes) {
  auto known = std::ranges::find_if(layouts, [](const Layout* one) { return one != nullptr; });
  if (known == layouts.end()) return true;
  const Placement& placement = *(*known)->placement;
  CutCheck cuts(layouts, sizes);
  for (size_t axis = 0; axis < placement.shape.size(); axis++) {
    bool found = std::ranges::any_of(signatures, [&](const Signature& one) {
      return follows(one, layouts, axis) && cuts.holds(one, placement, axis);
    });
    if (!found) return false;
  }
  return true;
}

}  // namespace tw::sbp
