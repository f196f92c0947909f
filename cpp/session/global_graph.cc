#include "session/global_graph.h"

#include "comm/world.h"
#include "passes/pass.h"

namespace tw::session {

passes::ProcessGraph lay_out(ir::Graph& graph) {
  passes::simplify(graph);
  passes::run_passes(graph, passes::layout_passes());
  const comm::World& world = comm::world();
  if (world.processes().size() > 1) passes::run_passes(graph, passes::meeting_passes());
  std::vector<std::vector<int64_t>> ranks(world.processes().size());
  for (int64_t rank : passes::ranks_of(graph)) {
    TW_CHECK(world.is_valid(static_cast<int>(rank)), kPlacement, graph.name, ": a placement has rank ", rank,
             ", but the job has ", world.size());
    ranks[world.process_of(static_cast<int>(rank))].push_back(rank);
  }
  // Every process makes all of them, so that each proves the same about the order in which they meet.
  std::vector<passes::ProcessGraph> all;
  for (size_t process = 0; process < ranks.size(); process++)
    all.push_back(passes::graph_of_process(graph, ranks[process]));
  passes::check_meetings(all);
  return std::move(all[world.self()]);
}

}  // namespace tw::session
