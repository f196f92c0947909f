// Rounds, until the budget is met: (1) plan, and find the node at which the most bytes are live; (2) list the
// values that are kept across it: made before, read after, but not there; (3) ask for each which nodes would
// have to run again behind it, and how long they take: what they read must be live by then, or is repeated
// too; (4) repeat those with the most bytes for their time, as many as the budget wants.
#include "session/fit_memory.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "ir/control.h"
#include "ir/cost.h"
#include "passes/memory/recompute.h"
#include "passes/simplify/simplify.h"
#include "planner/groups.h"
#include "planner/plan_graph.h"
#include "planner/plan_regions.h"

namespace tw::session {

namespace {

constexpr int kMostRounds = 200;
constexpr int kRoundsWithoutGain = 12;
constexpr size_t kLongestChain = 64;  // of nodes that are repeated for one value

// What recompute_cheap may spend.
constexpr size_t kLongGraph = 20'000;            // nodes
constexpr double kCheapShare = 0.01;             // of the graph's time
constexpr double kCheapSecondsPerByte = 0.4e-9;  // four passes over what is freed
constexpr double kWorthwhileShare = 0.04;        // of the peak

// Estimates on a nominal core; their ratios are what matters.
double seconds_of(const ir::Node& node) {
  ir::Cost cost = ir::cost_of(node);
  return 50e-9 + std::max(cost.flops / 50e9, cost.bytes / 10e9);
}

// Nodes in the order in which they run.
void arrange(ir::Graph& graph, const planner::Order& order) {
  std::unordered_map<const ir::Node*, std::unique_ptr<ir::Node>> owners;
  owners.reserve(graph.nodes.size());
  for (auto& node : graph.nodes) owners[node.get()] = std::move(node);
  for (size_t i = 0; i < graph.nodes.size(); i++) graph.nodes[i] = std::move(owners.at(order.nodes[i]));
}

struct Limits {
  double seconds = std::numeric_limits<double>::infinity();           // of all that is repeated
  double seconds_per_byte = std::numeric_limits<double>::infinity();  // of each value
};

// What is live across one node of a graph whose nodes stand in the order in which they run.
class Crossing {
 public:
  Crossing(const ir::Graph& graph, int at, int commit)
      : graph_(graph), at_(at), groups_(planner::find_groups(graph)), spans_(groups_.bytes.size()) {
    for (size_t i = 0; i < graph.nodes.size(); i++) note(*graph.nodes[i], static_cast<int>(i), commit);
    for (const ir::Value& output : graph.outputs) pin(output);
    for (const ir::Assignment& assignment : graph.assignments) pin(assignment.value);
  }

  // Marks nodes so that `wanted_bytes` are free at the crossing, or as many as can be within `limits`;
  // returns how many.
  int64_t choose(int64_t wanted_bytes, Limits limits, std::vector<char>* again) {
    std::vector<Candidate> candidates;
    for (int i = 0; i < at_; i++) {
      Candidate candidate;
      if (!may_repeat(*graph_.nodes[i]) || !chain(i, &candidate)) continue;
      for (const ir::GraphRef& output : graph_.nodes[i]->outputs)
        if (crosses(group(output))) candidate.bytes += groups_.bytes[group(output)];
      if (candidate.bytes > 0 &&
          candidate.seconds <= limits.seconds_per_byte * static_cast<double>(candidate.bytes))
        candidates.push_back(std::move(candidate));
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return static_cast<double>(a.bytes) * b.seconds > static_cast<double>(b.bytes) * a.seconds;
    });
    again->assign(graph_.nodes.size(), 0);
    int64_t freed = 0;
    for (size_t i = 0; i < candidates.size() && freed < wanted_bytes; i++) {
      limits.seconds -= candidates[i].seconds;
      if (limits.seconds < 0) break;
      for (int node : candidates[i].nodes) (*again)[node] = 1;
      freed += candidates[i].bytes;
    }
    return freed;
  }

 private:
  struct Span {
    int node = -1;        // that makes it; -1 for leaves
    int last = -1;        // the last node that reads it
    bool there = false;   // read or made at the crossing
    bool pinned = false;  // read by the caller, an assignment or the commit
  };
  struct Candidate {
    int64_t bytes = 0;  // that are free at the crossing: may be held by what the chain reads
    double seconds = 0;
    std::vector<int> nodes;
  };

  int group(const ir::Value& value) const { return groups_.of[ir::graph_value(value).id]; }
  int group(const ir::GraphRef& value) const { return groups_.of[value->id]; }
  void pin(const ir::Value& value) { spans_[group(value)].pinned = true; }

  void note(const ir::Node& node, int i, int commit) {
    if (node.def->view) return;
    for (const ir::Value& input : node.inputs) {
      if (!input) continue;
      Span& span = spans_[group(input)];
      span.last = i;
      span.there |= i == at_;
      span.pinned |= i >= commit;
    }
    for (const ir::GraphRef& output : node.outputs) {
      spans_[group(output)].node = spans_[group(output)].last = i;
      spans_[group(output)].there |= i == at_;
    }
  }

  bool crosses(int group) const {
    const Span& span = spans_[group];
    return span.node >= 0 && span.node < at_ && span.last > at_ && !span.there && !span.pinned;
  }

  // What reads nothing is made late anyway.
  static bool may_repeat(const ir::Node& node) {
    bool reads = !node.inputs.empty() || node.def->random_key_offset >= 0;
    return reads && !node.def->view && node.def->mutated_params == 0 && !ir::has_effects(node) &&
           node.regions.empty();
  }

  // The nodes that have to run again for the results of node `i`.
  bool chain(int i, Candidate* candidate) const {
    candidate->nodes.push_back(i);
    for (size_t next = 0; next < candidate->nodes.size(); next++) {
      const ir::Node& node = *graph_.nodes[candidate->nodes[next]];
      if (!may_repeat(node) || candidate->nodes.size() > kLongestChain) return false;
      candidate->seconds += seconds_of(node);
      for (const ir::Value& input : node.inputs)
        if (input) need(group(input), candidate);
    }
    return true;
  }

  // What a repetition reads is there, is small enough to be kept for it, or is repeated as well.
  void need(int group, Candidate* candidate) const {
    constexpr int64_t kSmallBytes = 1 << 10;
    const Span& span = spans_[group];
    if (span.node < 0 || span.last >= at_ || groups_.bytes[group] <= kSmallBytes) return;
    auto& nodes = candidate->nodes;
    if (std::find(nodes.begin(), nodes.end(), span.node) == nodes.end()) nodes.push_back(span.node);
  }

  const ir::Graph& graph_;
  const int at_;
  planner::Groups groups_;
  std::vector<Span> spans_;
};

// Plans, puts the nodes in the order in which they run, and finds the one at the peak.
struct Peak {
  int64_t bytes = 0;
  int node = -1;  // -1: no node is at fault
  int commit = 0;
};

Peak find_peak(ir::Graph& graph, std::span<const Dims> input_strides) {
  planner::RegionNeeds needs;
  for (const auto& [node, region] : planner::plan_regions(graph, graph))
    needs.bytes[node] = planner::arena_bytes(region);
  planner::Ordered now = planner::choose_order(graph, input_strides, needs);
  size_t step = 0;
  Peak peak{planner::live_peak(now.layout, &step), -1, static_cast<int>(now.order.commit)};
  while (step > 0 && step < now.layout.steps.size() && !now.layout.steps[step].node) step--;
  const ir::Node* node = step < now.layout.steps.size() ? now.layout.steps[step].node : nullptr;
  arrange(graph, now.order);
  graph.number();
  for (size_t i = 0; node && i < graph.nodes.size(); i++)
    if (graph.nodes[i].get() == node) peak.node = static_cast<int>(i);
  return peak;
}

void repeat(ir::Graph& graph, const std::vector<char>& again, int node) {
  passes::recompute(graph, again, static_cast<size_t>(node));
  passes::remove_dead_code(graph);
}

// The bodies of loops over the parts of a batch, which hold forward and backward.
std::vector<ir::Graph*> bodies_of_parts(const ir::Graph& graph) {
  std::vector<ir::Graph*> bodies;
  for (const auto& node : graph.nodes)
    if (ir::control_kind(*node->def) == ir::ControlKind::kLoop && ir::loop_shape(*node).parts)
      bodies.push_back(node->regions[0].get());
  return bodies;
}

// Takes from the peaks of these what is too much around them.
void fit_bodies(ir::Graph& graph, int64_t budget_bytes, std::span<const Dims> input_strides) {
  for (ir::Graph* body : bodies_of_parts(graph)) {
    int64_t excess = find_peak(graph, input_strides).bytes - budget_bytes, least = 0;
    if (excess <= 0) return;
    fit_memory(*body, find_peak(*body, {}).bytes - excess, {}, &least);
  }
}

}  // namespace

bool fit_memory(ir::Graph& graph, int64_t budget_bytes, std::span<const Dims> input_strides,
                int64_t* least_bytes) {
  fit_bodies(graph, budget_bytes, input_strides);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int round = 0, idle = 0; round < kMostRounds && idle < kRoundsWithoutGain; round++, idle++) {
    Peak peak = find_peak(graph, input_strides);
    if (peak.bytes < least) least = peak.bytes, idle = 0;
    if (peak.bytes <= budget_bytes) return true;
    std::vector<char> again;
    if (peak.node < 0 ||
        Crossing(graph, peak.node, peak.commit).choose(peak.bytes - budget_bytes, {}, &again) == 0)
      break;
    repeat(graph, again, peak.node);
  }
  *least_bytes = least;
  return false;
}

void recompute_cheap(ir::Graph& graph, std::span<const Dims> input_strides) {
  for (ir::Graph* body : bodies_of_parts(graph)) recompute_cheap(*body, {});
  if (graph.nodes.size() > kLongGraph) return;
  Limits limits{0, kCheapSecondsPerByte};
  for (const auto& node : graph.nodes) limits.seconds += kCheapShare * seconds_of(*node);
  Peak peak = find_peak(graph, input_strides);
  if (peak.node < 0) return;
  std::vector<char> again;
  int64_t freed = Crossing(graph, peak.node, peak.commit).choose(peak.bytes, limits, &again);
  if (static_cast<double>(freed) >= kWorthwhileShare * static_cast<double>(peak.bytes))
    repeat(graph, again, peak.node);
}

}  // namespace tw::session
