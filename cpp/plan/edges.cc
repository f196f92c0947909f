#include "plan/edges.h"

#include "base/cat.h"

namespace tw::plan {

std::vector<Edge> edges_of(const Plan& plan) {
  std::vector<int> producers(plan.registers.size(), -1);
  for (size_t a = 0; a < plan.actors.size(); a++)
    for (int reg : plan.actors[a].writes) producers[reg] = static_cast<int>(a);
  std::vector<Edge> edges;
  for (size_t a = 0; a < plan.actors.size(); a++) {
    for (int reg : plan.actors[a].reads) {
      int rate = plan.registers[reg].rate, producer = producers[reg];
      edges.push_back({reg, producer, static_cast<int>(a), plan.actors[producer].rate / rate,
                       plan.actors[a].rate / rate});
    }
  }
  return edges;
}

Tokens::Tokens(const Plan& plan)
    : plan_(plan),
      edges_(edges_of(plan)),
      inputs_(plan.actors.size()),
      outputs_(plan.actors.size()),
      firings_(plan.actors.size(), 0) {
  for (size_t e = 0; e < edges_.size(); e++) {
    const Register& reg = plan.registers[edges_[e].reg];
    data_.push_back(reg.initial);
    free_.push_back(reg.slots - reg.initial);
    inputs_[edges_[e].consumer].push_back(static_cast<int>(e));
    outputs_[edges_[e].producer].push_back(static_cast<int>(e));
  }
}

int Tokens::blocked_by(int actor) const {
  for (int e : inputs_[actor])
    if (data_[e] == 0) return e;
  for (int e : outputs_[actor])
    if (firings_[actor] % edges_[e].produce_firings == 0 && free_[e] == 0) return e;
  return -1;
}

void Tokens::begin(int actor) {
  for (int e : outputs_[actor])
    if (firings_[actor] % edges_[e].produce_firings == 0) free_[e]--;
}

void Tokens::end(int actor) {
  int64_t done = ++firings_[actor];
  for (int e : outputs_[actor])
    if (done % edges_[e].produce_firings == 0) data_[e]++;
  for (int e : inputs_[actor]) {
    if (done % edges_[e].consume_firings != 0) continue;
    data_[e]--;
    free_[e]++;
  }
}

std::string Tokens::reason(int actor) const {
  int e = blocked_by(actor);
  if (e < 0) return "";
  const Edge& edge = edges_[e];
  const std::string& name = plan_.actors[actor].name;
  const std::string& reg = plan_.registers[edge.reg].name;
  if (data_[e] == 0 && edge.consumer == actor)
    return cat('\'', name, "' waits for data in '", reg, "' from '", plan_.actors[edge.producer].name, '\'');
  return cat('\'', name, "' waits for a free slot of '", reg, "' (", plan_.registers[edge.reg].slots,
             " in all) from '", plan_.actors[edge.consumer].name, '\'');
}

}  // namespace tw::plan
