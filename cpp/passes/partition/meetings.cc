#include <map>
#include <set>

#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"
#include "passes/partition/partition.h"

namespace tw::passes {

namespace {

struct Meeting {
  std::string what;
  std::set<int64_t> wanted, come;  // ranks
};

void add_ranks(const std::string& layout, std::set<int64_t>* ranks) {
  ir::TextLexer lexer(layout);
  const auto placement = ir::parse_layout(lexer)->placement;
  ranks->insert(placement->ranks.begin(), placement->ranks.end());
}

// Regions stand where their nodes do: whatever they decide, all processes decide it alike.
void check_graph(const ProcessGraph& process, const ir::Graph& graph, int64_t& before,
                 std::map<int64_t, Meeting>* meetings) {
  for (const auto& node : graph.nodes) {
    for (const auto& region : node->regions) check_graph(process, *region, before, meetings);
    if (!ir::is_boxing_part(*node->def)) continue;
    const auto& a = *static_cast<const ops::BoxingPartAttrs*>(node->attrs.get());
    TW_CHECK(a.order > before, kInternal, "ranks ", process.ranks, " come to boxing ", a.order,
             " after boxing ", before);
    before = a.order;
    std::string what = cat(a.source, " -> ", a.target, " of ", a.dtype, a.size);
    Meeting& meeting = (*meetings)[a.order];
    if (meeting.what.empty()) {
      meeting.what = what;
      add_ranks(a.source, &meeting.wanted);
      add_ranks(a.target, &meeting.wanted);
    }
    TW_CHECK(meeting.what == what, kInternal, "boxing ", a.order, " is ", what, " on ranks ", process.ranks,
             ", but elsewhere ", meeting.what);
    for (int64_t rank : process.ranks)
      if (meeting.wanted.contains(rank)) meeting.come.insert(rank);
  }
}

}  // namespace

void check_meetings(std::span<const ProcessGraph> graphs) {
  std::map<int64_t, Meeting> meetings;
  for (const ProcessGraph& process : graphs) {
    int64_t before = -1;
    check_graph(process, *process.graph, before, &meetings);
  }
  for (const auto& [order, meeting] : meetings)
    TW_CHECK(meeting.come == meeting.wanted, kInternal, "boxing ", order, ", ", meeting.what, ", is on ",
             meeting.come.size(), " ranks, but ", meeting.wanted.size(), " take part");
}

}  // namespace tw::passes
