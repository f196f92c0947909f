#include "passes/sbp/sources.h"

#include "sbp/boxing.h"

namespace tw::passes {

namespace {

// Of two ways that send nothing, the one with fewer boxings is better.
constexpr double kBoxingSeconds = 1e-7;

const sbp::Layout* without_pending(const sbp::Layout* layout) {
  if (!layout->has_partial()) return layout;
  sbp::NdSbp sbp = layout->sbp;
  for (sbp::Sbp& one : sbp)
    if (one.kind == sbp::Kind::kPartial) one = sbp::broadcast();
  return sbp::layout(layout->placement, sbp).get();
}

}  // namespace

size_t BoxingTimes::Hash::operator()(const Key& key) const {
  auto mix = [](size_t hash, size_t word) { return (hash ^ word) * 0x9E3779B97F4A7C15 + (hash >> 31); };
  size_t hash = mix(reinterpret_cast<size_t>(key.from), reinterpret_cast<size_t>(key.to));
  for (int64_t size : key.sizes) hash = mix(hash, static_cast<size_t>(size));
  return mix(hash, static_cast<size_t>(key.element_bytes));
}

const BoxingTimes::Entry& BoxingTimes::of(const sbp::Layout& from, const sbp::Layout& to,
                                          const SearchValue& value) {
  auto [at, fresh] = known_.try_emplace(Key{&from, &to, value.sizes, value.element_bytes});
  Entry& entry = at->second;
  if (!fresh) return entry;
  entry.same = sbp::same_parts(from, to, value.sizes);
  if (entry.same) return entry;
  auto plan = sbp::plan_boxing(sbp::LayoutRef(&from), sbp::LayoutRef(&to), value.sizes, value.element_bytes);
  entry.seconds = plan->seconds + kBoxingSeconds;
  if (plan->bytes > 0)
    entry.seconds += meeting_seconds_ + meeting_seconds_per_byte_ * static_cast<double>(plan->bytes) /
                                            static_cast<double>(plan->ranks.size());
  return entry;
}

Source source_of(const std::vector<const sbp::Layout*>& available, const Demand& demand,
                 const SearchValue& value, BoxingTimes& times) {
  Source best{-1, nullptr, 0};
  for (size_t i = 0; i < available.size(); i++) {
    if (demand.kind == DemandKind::kFinal && demand.layout &&
        available[i]->placement != demand.layout->placement)
      continue;
    const sbp::Layout* wanted =
        demand.kind == DemandKind::kFinal ? without_pending(available[i]) : demand.layout;
    const BoxingTimes::Entry& entry = times.of(*available[i], *wanted, value);
    if (best.from >= 0 && entry.seconds >= best.seconds) continue;
    bool made = !entry.same && demand.kind != DemandKind::kTurn;
    best = {static_cast<int>(i), made ? wanted : nullptr, entry.seconds};
  }
  best.seconds *= value.times;
  return best;
}

Demand demand_of(const SearchNode& node, const Candidate& candidate, size_t input) {
  if (node.boxing) return {DemandKind::kTurn, candidate.layouts.back()};
  return {DemandKind::kTake, candidate.layouts[input]};
}

double cost_of(const Problem& problem, const std::vector<int>& choice, BoxingTimes& times) {
  std::vector<std::vector<const sbp::Layout*>> available(problem.values.size());
  for (size_t v = 0; v < available.size(); v++)
    if (problem.values[v].given) available[v] = {problem.values[v].given};
  double total = 0;
  auto take = [&](int value, const Demand& demand) {
    Source source = source_of(available[value], demand, problem.values[value], times);
    if (source.made) available[value].push_back(source.made);
    total += source.seconds;
  };
  for (size_t n = 0; n < choice.size(); n++) {
    const SearchNode& node = problem.nodes[n];
    const Candidate& candidate = node.candidates[choice[n]];
    total += candidate.seconds;
    for (size_t i = 0; i < node.inputs.size(); i++)
      if (node.inputs[i] >= 0) take(node.inputs[i], demand_of(node, candidate, i));
    for (size_t o = 0; o < node.outputs.size(); o++)
      available[node.outputs[o]] = {candidate.layouts[node.inputs.size() + o]};
  }
  if (choice.size() < problem.nodes.size()) return total;
  for (const FinalUse& use : problem.uses) take(use.value, demand_of(use));
  return total;
}

}  // namespace tw::passes
