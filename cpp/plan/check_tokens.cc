#include "base/error.h"
#include "plan/check.h"
#include "plan/edges.h"

namespace tw::plan {

namespace {

std::string stall(const Plan& plan, const Tokens& tokens) {
  std::string text;
  int shown = 0;
  for (size_t a = 0; a < plan.actors.size() && shown < 8; a++) {
    int actor = static_cast<int>(a);
    if (tokens.firings(actor) >= plan.actors[a].rate) continue;
    text += cat(shown++ ? "; " : "", tokens.reason(actor));
  }
  return text;
}

}  // namespace

// Fires whatever can fire until the step is done. Which of several goes first makes no difference.
void check_tokens(const Plan& plan) {
  Tokens tokens(plan);
  std::vector<int> maybe;
  std::vector<char> listed(plan.actors.size(), 1);
  for (size_t a = 0; a < plan.actors.size(); a++) maybe.push_back(static_cast<int>(a));
  auto look_again = [&](int actor) {
    if (listed[actor]) return;
    listed[actor] = 1;
    maybe.push_back(actor);
  };
  while (!maybe.empty()) {
    int actor = maybe.back();
    maybe.pop_back();
    listed[actor] = 0;
    while (tokens.firings(actor) < plan.actors[actor].rate && tokens.ready(actor)) {
      tokens.begin(actor);
      tokens.end(actor);
      for (int e : tokens.outputs(actor)) look_again(tokens.edges()[e].consumer);
      for (int e : tokens.inputs(actor)) look_again(tokens.edges()[e].producer);
    }
  }
  for (size_t a = 0; a < plan.actors.size(); a++)
    TW_CHECK(tokens.firings(static_cast<int>(a)) == plan.actors[a].rate, kValue,
             "plan: the step never ends: ", stall(plan, tokens));
}

}  // namespace tw::plan
