#include "session/archive_places.h"

#include <algorithm>
#include <unordered_map>

#include "comm/world.h"
#include "eager/global.h"
#include "eager/modes.h"
#include "ir/control.h"
#include "ir/layouts.h"
#include "passes/partition/partition.h"

namespace tw::session {

using eager::Tensor;

namespace {

constexpr std::string_view kAny = "any ";

template <class Body>
void for_each_layout(ir::Graph& root, const Body& body) {
  ir::for_each_graph(root, [&](ir::Graph& graph) {
    for (auto* leaves : {&graph.inputs, &graph.variables, &graph.constants})
      for (const ir::Leaf& leaf : *leaves)
        if (leaf.value->layout) body(leaf.value->layout);
    for (auto& node : graph.nodes)
      for (const ir::GraphRef& output : node->outputs)
        if (output->layout) body(output->layout);
  });
}

sbp::LayoutRef layout_of(std::string_view text) {
  ir::TextLexer lexer(text);
  return ir::parse_layout(lexer);
}

class Mover {
 public:
  explicit Mover(const sbp::PlacementRef& to) : to_(to) {}

  void see(const sbp::LayoutRef& layout) {
    for (int64_t rank : layout->placement->ranks)
      ranks_.try_emplace(rank, static_cast<int64_t>(ranks_.size()));
  }
  size_t count() const { return ranks_.size(); }
  sbp::LayoutRef moved(const sbp::LayoutRef& layout) const {
    std::vector<int64_t> ranks;
    for (int64_t rank : layout->placement->ranks) ranks.push_back(to_->ranks[ranks_.at(rank)]);
    return sbp::layout(sbp::placement(to_->type, layout->placement->shape, ranks), layout->sbp);
  }

 private:
  const sbp::PlacementRef& to_;
  std::unordered_map<int64_t, int64_t> ranks_;  // their places in the new placement
};

Tensor laid_out(const Tensor& whole, const sbp::LayoutRef& layout) {
  eager::GradModeGuard off(false);
  return layout ? eager::whole_to_global(whole, layout) : whole;
}

}  // namespace

std::vector<std::string> places_of(const std::vector<Tensor>& results) {
  std::vector<std::string> places;
  for (const Tensor& result : results) {
    places.emplace_back();
    if (!result->global) continue;
    if (!result->global->decided) places.back() = kAny;
    places.back() += sbp::name_of(*eager::layout_of(*result));
  }
  return places;
}

std::vector<ResultPlace> parse_places(const std::vector<std::string>& places) {
  std::vector<ResultPlace> parsed;
  for (const std::string& text : places) {
    parsed.emplace_back();
    if (text.empty()) continue;
    const bool any = text.starts_with(kAny);
    const sbp::LayoutRef layout = layout_of(std::string_view(text).substr(any ? kAny.size() : 0));
    parsed.back() = {layout->placement, any ? nullptr : layout};
  }
  return parsed;
}

void move_archive(Archive& archive, const sbp::PlacementRef& placement) {
  Mover mover(placement);
  for_each_layout(*archive.graph, [&](sbp::LayoutRef& layout) { mover.see(layout); });
  TW_CHECK(mover.count() > 0, kPlacement, "it has no global tensors, which could lie on ", *placement);
  TW_CHECK(mover.count() == placement->ranks.size(), kPlacement, "its tensors lie on ", mover.count(),
           " ranks, and on as many others they can, but ", *placement, " has ", placement->ranks.size());
  for_each_layout(*archive.graph, [&](sbp::LayoutRef& layout) { layout = mover.moved(layout); });
  for (std::string& text : archive.places) {
    if (text.empty()) continue;
    const bool any = text.starts_with(kAny);
    const sbp::LayoutRef layout = layout_of(std::string_view(text).substr(any ? kAny.size() : 0));
    text = cat(any ? kAny : "", sbp::name_of(*mover.moved(layout)));
  }
}

void lay_out_tensors(Archive& archive) {
  const comm::World& world = comm::world();
  for (int64_t rank : passes::ranks_of(*archive.graph))
    TW_CHECK(world.is_valid(static_cast<int>(rank)), kPlacement, "its tensors lie on rank ", rank,
             " among others, but the job has ", world.size(),
             " ranks; load_graph(path, placement=...) says where ", "else they are to lie");
  for (size_t i = 0; i < archive.variables.size(); i++)
    archive.variables[i] = laid_out(archive.variables[i], archive.graph->variables[i].value->layout);
}

}  // namespace tw::session
