// Stages: (1) *private* values, which one node alone reads and which are made of private values, need no
// states: a table says what each of their layouts costs at least. (2) The other nodes in their order: a state
// says in which layouts the values lie that are still read; of states that are the same the cheapest stays,
// and of all, where they are too many, the cheapest ones. (3) The choices of the best last state, traced
// back.
//
// Nodes × states × candidates; the number of states is bounded by what is left of a fixed budget. States that
// agree on the values of a step are looked at once there. Where that is too few to be exact, nodes that
// repeat others (repeats.h) are solved once: a state keeps to the candidate that it has for the first of
// them, so that the budget goes to what differs.
#include "passes/sbp/search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/small_vector.h"
#include "passes/sbp/repeats.h"
#include "passes/sbp/variants.h"

namespace tw::passes {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Transitions between states: of large problems, of those whose nodes repeat, and of those that are small
// enough to be solved exactly.
constexpr int64_t kBudget = 1'000'000, kBudgetOfRepeats = 4'000'000, kSmallBudget = 16'000'000;
constexpr size_t kSmallProblem = 16;  // nodes
constexpr int64_t kFewestStates = 8, kMostStates = 1 << 16;

// A private value: the least that one of its layouts costs, and the candidate of its node for that.
struct TableEntry {
  const sbp::Layout* layout;
  double seconds;
  int candidate;
};

// Layouts of the values that are in use, by slot.
struct State {
  double seconds = 0;
  uint64_t hash = 0;  // the sum of those of the slots: states with one hash are taken to be the same
  std::vector<int> variants;
  std::vector<int> decided;  // candidates of nodes that repeat, by their number; -1: none yet
};

struct Transition {
  double seconds;
  uint64_t hash;
  int parent, candidate;
};

uint64_t hash_of(int value, int variant) {
  uint64_t x = static_cast<uint64_t>(value) << 32 | static_cast<uint32_t>(variant);
  x = (x ^ x >> 31) * 0x9E3779B97F4A7C15;
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9;
  return x ^ x >> 32;
}

class Search {
 public:
  // `repeats`: see repeats_of; empty where every node is chosen for by itself.
  explicit Search(const Problem& problem, std::vector<int> repeats = {})
      : problem_(problem),
        repeats_(std::move(repeats)),
        times_(problem.meeting_seconds, problem.meeting_seconds_per_byte),
        uses_(problem.values.size()),
        finals_(problem.values.size()),
        tables_(problem.values.size()),
        variants_(problem.values.size()),
        slots_(problem.values.size(), -1) {
    result_.candidates.assign(problem.nodes.size(), -1);
  }

  Choices run() {
    count_uses();
    find_private();
    bound_states();
    start();
    for (size_t i = 0; i < problem_.nodes.size(); i++) {
      if (private_[i]) continue;
      step(static_cast<int>(i));
      for (const auto* values : {&problem_.nodes[i].inputs, &problem_.nodes[i].outputs})
        for (int value : *values)
          if (value >= 0 && uses_[value] == static_cast<int>(finals_[value].size())) finish_all(value);
    }
    for (size_t value = 0; value < finals_.size(); value++) finish_all(static_cast<int>(value));
    trace_back();
    return std::move(result_);
  }

 private:
  // One demand on a value that has states.
  struct Wanted {
    int place;   // in the list of such values of a step
    int demand;  // number
  };

  void count_uses() {
    for (const FinalUse& use : problem_.uses) finals_[use.value].push_back(&use);
    for (const SearchNode& node : problem_.nodes)
      for (int value : node.inputs)
        if (value >= 0) uses_[value]++;
    for (const FinalUse& use : problem_.uses) uses_[use.value]++;
  }

  // --- private values ---

  bool is_private(int value) const { return !tables_[value].empty(); }

  const TableEntry& cheapest(int value, const Demand& demand, double* seconds) {
    const TableEntry* best = nullptr;
    *seconds = kNever;
    for (const TableEntry& entry : tables_[value]) {
      double cost = entry.seconds + source_of({entry.layout}, demand, problem_.values[value], times_).seconds;
      if (cost >= *seconds) continue;
      *seconds = cost;
      best = &entry;
    }
    return *best;
  }

  // The candidate's own time, and that of private inputs.
  double own_seconds(const SearchNode& node, const Candidate& candidate) {
    double total = candidate.seconds;
    for (size_t i = 0; i < node.inputs.size(); i++) {
      int value = node.inputs[i];
      if (value < 0 || !is_private(value)) continue;
      double seconds;
      cheapest(value, demand_of(node, candidate, i), &seconds);
      total += seconds;
    }
    return total;
  }

  void find_private() {
    private_.assign(problem_.nodes.size(), false);
    for (size_t v = 0; v < problem_.values.size(); v++)
      if (problem_.values[v].given && uses_[v] == 1) tables_[v] = {{problem_.values[v].given, 0, -1}};
    for (size_t i = 0; i < problem_.nodes.size(); i++) {
      const SearchNode& node = problem_.nodes[i];
      int used = -1, count = 0;
      for (size_t o = 0; o < node.outputs.size(); o++) {
        if (uses_[node.outputs[o]] == 0) continue;
        used = static_cast<int>(o);
        count += uses_[node.outputs[o]];
      }
      private_[i] = count == 1;
      for (int value : node.inputs) private_[i] = private_[i] && (value < 0 || is_private(value));
      if (private_[i]) fill_table(node, used);
    }
  }

  void fill_table(const SearchNode& node, int output) {
    std::vector<TableEntry>& table = tables_[node.outputs[output]];
    for (size_t c = 0; c < node.candidates.size(); c++) {
      const sbp::Layout* layout = node.candidates[c].layouts[node.inputs.size() + output];
      double seconds = own_seconds(node, node.candidates[c]);
      auto known = std::ranges::find(table, layout, &TableEntry::layout);
      if (known == table.end())
        table.push_back({layout, seconds, static_cast<int>(c)});
      else if (seconds < known->seconds)
        *known = {layout, seconds, static_cast<int>(c)};
    }
    makers_.resize(problem_.values.size(), -1);
    makers_[node.outputs[output]] = static_cast<int>(&node - problem_.nodes.data());
  }

  // Fixes the nodes behind a private value.
  void choose_private(int value, const Demand& demand) {
    std::vector<std::pair<int, Demand>> open{{value, demand}};
    while (!open.empty()) {
      auto [at, wanted] = open.back();
      open.pop_back();
      double seconds;
      const TableEntry& entry = cheapest(at, wanted, &seconds);
      if (entry.candidate < 0) continue;
      int number = makers_[at];
      result_.candidates[number] = entry.candidate;
      const SearchNode& node = problem_.nodes[number];
      for (size_t i = 0; i < node.inputs.size(); i++)
        if (node.inputs[i] >= 0)
          open.push_back({node.inputs[i], demand_of(node, node.candidates[entry.candidate], i)});
    }
  }

  // --- states ---

  int repeat_of(int node) const { return node < 0 || repeats_.empty() ? -1 : repeats_[node]; }

  void bound_states() {
    int64_t transitions = 1;
    std::vector<char> met(problem_.nodes.size());  // by the numbers of those that repeat
    for (size_t i = 0; i < problem_.nodes.size(); i++) {
      if (private_[i]) continue;
      int repeat = repeat_of(static_cast<int>(i));
      bool again = repeat >= 0 && std::exchange(met[repeat], true);
      transitions += again ? 1 : static_cast<int64_t>(problem_.nodes[i].candidates.size());
    }
    int64_t budget = problem_.nodes.size() <= kSmallProblem ? kSmallBudget
                     : repeats_.empty()                     ? kBudget
                                                            : kBudgetOfRepeats;
    most_states_ = std::clamp(budget / transitions, kFewestStates, kMostStates);
  }

  void start() {
    states_.emplace_back();
    if (!repeats_.empty()) states_[0].decided.assign(1 + std::ranges::max(repeats_), -1);
    for (size_t v = 0; v < problem_.values.size(); v++) {
      const sbp::Layout* given = problem_.values[v].given;
      if (given && uses_[v] > 0 && !is_private(static_cast<int>(v)))
        put(states_[0], static_cast<int>(v), take_slot(static_cast<int>(v)), variants_[v].only(given));
    }
  }

  int take_slot(int value) {
    if (free_slots_.empty()) {
      free_slots_.push_back(slot_count_++);
      for (State& state : states_) state.variants.push_back(-1);
    }
    slots_[value] = free_slots_.back();
    free_slots_.pop_back();
    return slots_[value];
  }

  static void put(State& state, int value, int slot, int variant) {
    if (state.variants.size() <= static_cast<size_t>(slot)) state.variants.resize(slot + 1, -1);
    state.hash += hash_of(value, variant);
    state.variants[slot] = variant;
  }

  // The distinct values with states among `values`, and what becomes of them.
  struct Shared {
    std::vector<int> values;
    std::vector<char> alive;  // read by a later step too
  };
  Shared shared_of(const std::vector<int>& values) {
    Shared shared;
    for (int value : values) {
      if (value < 0 || is_private(value)) continue;
      uses_[value]--;
      if (std::ranges::find(shared.values, value) == shared.values.end()) shared.values.push_back(value);
    }
    for (int value : shared.values) shared.alive.push_back(uses_[value] > 0);
    return shared;
  }
  static int place_of(const Shared& shared, int value) {
    return static_cast<int>(std::ranges::find(shared.values, value) - shared.values.begin());
  }

  // What a candidate makes of all states that agree on the values of a step: the time, what is added to the
  // states' hashes, and where the values are then.
  struct Outcome {
    double seconds = 0;
    uint64_t hash = 0;
    SmallVector<int, 4> now;
  };

  Outcome outcome_of(const std::vector<int>& before, const Shared& shared,
                     const std::vector<Wanted>& wanted) {
    Outcome outcome;
    outcome.now.append(before.begin(), before.end());
    for (const Wanted& one : wanted) {
      int value = shared.values[one.place];
      auto move = variants_[value].move(outcome.now[one.place], one.demand, problem_.values[value], times_);
      outcome.now[one.place] = move.next;
      outcome.seconds += move.seconds;
    }
    for (size_t i = 0; i < shared.values.size(); i++) {
      outcome.hash -= hash_of(shared.values[i], before[i]);
      if (shared.alive[i]) outcome.hash += hash_of(shared.values[i], outcome.now[i]);
    }
    return outcome;
  }

  void step(int number) {
    const SearchNode& node = problem_.nodes[number];
    Shared shared = shared_of(node.inputs);
    std::vector<double> own;
    std::vector<std::vector<Wanted>> wanted;
    for (const Candidate& candidate : node.candidates) {
      own.push_back(own_seconds(node, candidate));
      wanted.emplace_back();
      for (size_t i = 0; i < node.inputs.size(); i++) {
        int value = node.inputs[i];
        if (value >= 0 && !is_private(value))
          wanted.back().push_back(
              {place_of(shared, value), variants_[value].demand(demand_of(node, candidate, i))});
      }
    }
    std::vector<std::pair<int, std::vector<int>>> made;  // values, and their variant by candidate
    for (size_t o = 0; o < node.outputs.size(); o++) {
      int value = node.outputs[o];
      if (uses_[value] == 0) continue;
      made.push_back({value, {}});
      for (const Candidate& candidate : node.candidates)
        made.back().second.push_back(variants_[value].only(candidate.layouts[node.inputs.size() + o]));
    }
    advance(number, shared, own, wanted, made);
  }

  // When nobody else reads a value any more: what its last uses take is part of what its layout costs, and
  // states are compared by that.
  void finish_all(int value) {
    for (const FinalUse* use : std::exchange(finals_[value], {})) finish(*use);
  }

  void finish(const FinalUse& use) {
    Demand demand = demand_of(use);
    if (is_private(use.value)) {
      double seconds;
      cheapest(use.value, demand, &seconds);
      for (State& state : states_) state.seconds += seconds;
      return;
    }
    Shared shared = shared_of({use.value});
    advance(-1, shared, {0}, {{{0, variants_[use.value].demand(demand)}}}, {});
  }

  void advance(int number, const Shared& shared, const std::vector<double>& own,
               const std::vector<std::vector<Wanted>>& wanted,
               const std::vector<std::pair<int, std::vector<int>>>& made) {
    std::map<std::vector<int>, std::vector<Outcome>> outcomes;
    std::vector<const std::vector<Outcome>*> of_state;
    std::vector<int> before(shared.values.size());
    for (const State& state : states_) {
      for (size_t i = 0; i < before.size(); i++) before[i] = state.variants[slots_[shared.values[i]]];
      auto [at, fresh] = outcomes.try_emplace(before);
      for (size_t c = 0; fresh && c < own.size(); c++) {
        at->second.push_back(outcome_of(before, shared, wanted[c]));
        at->second.back().seconds += own[c];
        for (const auto& [value, variants] : made) at->second.back().hash += hash_of(value, variants[c]);
      }
      of_state.push_back(&at->second);
    }
    transitions_.clear();
    places_.assign(std::bit_ceil(2 * states_.size() * own.size()), -1);
    int repeat = repeat_of(number);
    for (size_t s = 0; s < states_.size(); s++)
      for (size_t c = 0; c < own.size(); c++) {
        int decided = repeat < 0 ? -1 : states_[s].decided[repeat];
        if (decided >= 0 && decided != static_cast<int>(c)) continue;
        const Outcome& outcome = (*of_state[s])[c];
        note({states_[s].seconds + outcome.seconds, states_[s].hash + outcome.hash, static_cast<int>(s),
              static_cast<int>(c)});
      }
    keep_best();
    follow(number, shared, of_state, made);
  }

  // In the order of parents and candidates, so that among equals the first ones win.
  void note(const Transition& one) {
    size_t mask = places_.size() - 1, at = one.hash & mask;
    while (places_[at] >= 0 && transitions_[places_[at]].hash != one.hash) at = (at + 1) & mask;
    if (places_[at] < 0) {
      places_[at] = static_cast<int>(transitions_.size());
      transitions_.push_back(one);
    } else if (one.seconds < transitions_[places_[at]].seconds) {
      transitions_[places_[at]] = one;
    }
  }

  void keep_best() {
    auto order = [](const Transition& a, const Transition& b) {
      return std::tie(a.seconds, a.parent, a.candidate) < std::tie(b.seconds, b.parent, b.candidate);
    };
    if (static_cast<int64_t>(transitions_.size()) > most_states_) {
      std::ranges::nth_element(transitions_, transitions_.begin() + most_states_, order);
      transitions_.resize(most_states_);
      result_.exact = false;
    }
    std::ranges::sort(transitions_, order);
  }

  // The states that are kept. Most slots are those of the parent, whose list the last of its children takes.
  void follow(int number, const Shared& shared, const std::vector<const std::vector<Outcome>*>& of_state,
              const std::vector<std::pair<int, std::vector<int>>>& made) {
    std::vector<int> children(states_.size());
    for (const Transition& one : transitions_) children[one.parent]++;
    std::vector<State> next;
    next.reserve(transitions_.size());
    std::vector<std::pair<int, int>> trail;
    trail.reserve(transitions_.size());
    for (const Transition& one : transitions_) {
      State& parent = states_[one.parent];
      State state = --children[one.parent] == 0 ? std::move(parent) : parent;
      if (int repeat = repeat_of(number); repeat >= 0) state.decided[repeat] = one.candidate;
      const Outcome& outcome = (*of_state[one.parent])[one.candidate];
      for (size_t i = 0; i < shared.values.size(); i++)
        state.variants[slots_[shared.values[i]]] = shared.alive[i] ? outcome.now[i] : -1;
      state.seconds = one.seconds;
      state.hash = one.hash;
      next.push_back(std::move(state));
      trail.push_back({one.parent, one.candidate});
    }
    states_ = std::move(next);
    for (size_t i = 0; i < shared.values.size(); i++)
      if (!shared.alive[i]) free_slots_.push_back(slots_[shared.values[i]]);
    for (const auto& [value, variants] : made) {
      int slot = take_slot(value);
      for (size_t s = 0; s < states_.size(); s++) states_[s].variants[slot] = variants[trail[s].second];
    }
    trails_.push_back({number, std::move(trail)});
  }

  void trace_back() {
    int at = 0;
    for (size_t s = 1; s < states_.size(); s++)
      if (states_[s].seconds < states_[at].seconds) at = static_cast<int>(s);
    result_.seconds = states_[at].seconds;
    for (size_t t = trails_.size(); t-- > 0;) {
      auto [parent, candidate] = trails_[t].states[at];
      if (trails_[t].node >= 0) result_.candidates[trails_[t].node] = candidate;
      at = parent;
    }
    for (size_t i = 0; i < problem_.nodes.size(); i++) {
      if (private_[i]) continue;
      const SearchNode& node = problem_.nodes[i];
      for (size_t k = 0; k < node.inputs.size(); k++)
        if (node.inputs[k] >= 0 && is_private(node.inputs[k]))
          choose_private(node.inputs[k], demand_of(node, node.candidates[result_.candidates[i]], k));
    }
    for (const FinalUse& use : problem_.uses)
      if (is_private(use.value)) choose_private(use.value, demand_of(use));
  }

  struct Trail {
    int node;
    std::vector<std::pair<int, int>> states;  // the parent of each, and the candidate
  };

  const Problem& problem_;
  std::vector<int> repeats_;
  BoxingTimes times_;
  std::vector<int> uses_;                             // that are still to come
  std::vector<std::vector<const FinalUse*>> finals_;  // of them, by value, those when all nodes have run
  std::vector<std::vector<TableEntry>> tables_;
  std::vector<int> makers_;  // the nodes of private values
  std::vector<char> private_;
  std::vector<Variants> variants_;
  std::vector<int> slots_, free_slots_;
  int slot_count_ = 0;
  int64_t most_states_ = 0;
  std::vector<State> states_;
  // Of the step that is taken: the transitions with unlike states behind them, and their places in a table by
  // hash.
  std::vector<Transition> transitions_;
  std::vector<int> places_;
  std::vector<Trail> trails_;
  Choices result_;
};

}  // namespace

Choices search(const Problem& problem) {
  Choices choices = Search(problem).run();
  if (choices.exact) return choices;
  std::vector<int> repeats = repeats_of(problem);
  if (std::ranges::max(repeats) < 0) return choices;
  Choices once = Search(problem, std::move(repeats)).run();
  once.exact = false;
  return once.seconds < choices.seconds ? once : choices;
}

}  // namespace tw::passes
