#include "plan/order.h"

#include <algorithm>
#include <deque>

namespace tw::plan {

namespace {

int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace

Order::Order(const Plan& plan) {
  steps_.from.resize(2 * plan.actors.size());
  steps_.distances.resize(2 * plan.actors.size());
  firings_.from.resize(plan.actors.size());
  firings_.distances.resize(plan.actors.size());
  for (int a = 0; a < static_cast<int>(plan.actors.size()); a++) steps_.from[2 * a].push_back({2 * a + 1, 0});
  for (const Edge& edge : edges_of(plan)) {
    const Register& reg = plan.registers[edge.reg];
    int free = reg.slots - reg.initial;
    if (edge.produce_firings == 1 && edge.consume_firings == 1) {
      firings_.from[edge.producer].push_back({edge.consumer, reg.initial});
      firings_.from[edge.consumer].push_back({edge.producer, free});
    }
    add_steps(edge.producer, edge.consumer, reg.initial, reg.rate);
    add_steps(edge.consumer, edge.producer, free, reg.rate);
  }
}

// `from` gives `rate` tokens a step to `to`, which had `tokens` to begin with. By the end of step k, `to` has
// taken (k + 1)·rate of them, so `from` has ended step k - ceil(tokens / rate). When it begins step k it has
// taken k·rate + 1, which leaves one step more, unless that one token is a whole step's.
void Order::add_steps(int from, int to, int tokens, int rate) {
  steps_.from[2 * from + 1].push_back({2 * to + 1, ceil_div(tokens, rate)});
  int begin = rate == 1 ? tokens : tokens == 0 ? 1 : 1 + ceil_div(tokens - 1, rate);
  steps_.from[2 * from + 1].push_back({2 * to, begin});
}

int Order::distance(Links& links, int from, int to) {
  std::vector<char>& distances = links.distances[from];
  if (!distances.empty()) return distances[to];
  distances.assign(links.from.size(), kFar);
  std::deque<std::pair<int, int>> open = {{from, 0}};
  while (!open.empty()) {
    auto [place, distance] = open.front();
    open.pop_front();
    for (const Link& link : links.from[place]) {
      int reached = std::min(distance + link.tokens, kFar);
      if (reached >= distances[link.to]) continue;
      distances[link.to] = static_cast<char>(reached);
      if (link.tokens == 0)
        open.push_front({link.to, reached});
      else
        open.push_back({link.to, reached});
    }
  }
  return distances[to];
}

}  // namespace tw::plan
