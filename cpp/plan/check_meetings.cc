#include "base/error.h"
#include "plan/check.h"
#include "plan/order.h"

namespace tw::plan {

namespace {

bool meets(const Plan& plan, const Actor& actor) {
  if (actor.kind == ActorKind::kComm) return true;
  for (const Launch& launch : actor.launches)
    if (launch.region >= 0 && plan.regions[launch.region].meets) return true;
  return false;
}

}  // namespace

void check_meetings(const Plan& plan) {
  std::vector<int> meetings;
  for (size_t a = 0; a < plan.actors.size(); a++)
    if (meets(plan, plan.actors[a])) meetings.push_back(static_cast<int>(a));
  if (meetings.size() < 2) return;
  Order order(plan);
  auto check = [&](int first, int second, bool orders) {
    TW_CHECK(orders, kValue, "plan: no register makes '", plan.actors[first].name, "' end before '",
             plan.actors[second].name, "' begins: processes may meet in another order");
  };
  for (size_t i = 1; i < meetings.size(); i++)
    check(meetings[i - 1], meetings[i], order.before(meetings[i - 1], meetings[i]));
  check(meetings.back(), meetings.front(), order.before_next(meetings.back(), meetings.front()));
}

}  // namespace tw::plan
