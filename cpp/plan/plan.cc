#include "plan/plan.h"

#include "base/error.h"

namespace tw::plan {

bool Region::operator==(const Region& other) const {
  return kind == other.kind && carried == other.carried && slices == other.slices && length == other.length &&
         reverse == other.reverse && parts == other.parts && meets == other.meets && bodies == other.bodies;
}

bool has_open_draws(const Plan& plan) {
  for (const Actor& actor : plan.actors)
    for (const Launch& launch : actor.launches)
      if (has_open_draws(plan, launch)) return true;
  return false;
}

bool has_open_draws(const Plan& plan, const Launch& launch) {
  if (launch.region < 0 || launch.draw < 0) return false;
  const Region& region = plan.regions[launch.region];
  return !region.parts || region.bodies.empty() || has_open_draws(region.bodies[0]);
}

int64_t draws_of(const Plan& plan, const Launch& launch) {
  if (launch.draw < 0) return 0;
  return launch.region < 0 || has_open_draws(plan, launch) ? 1 : plan.regions[launch.region].bodies[0].draws;
}

int64_t span_bytes(const Value& value) {
  TW_CHECK(value.sizes.size() == value.strides.size(), kValue, "plan: a value has ", value.sizes.size(),
           " sizes and ", value.strides.size(), " strides");
  bool empty = numel(value.sizes) == 0;
  int64_t last = 0;
  for (size_t i = 0; i < value.sizes.size(); i++) {
    int64_t stride = value.strides[i], reach = 0;
    TW_CHECK(stride >= 0, kValue, "plan: strides are never negative, got ", value.strides);
    if (empty) continue;
    TW_CHECK(!__builtin_mul_overflow(stride, value.sizes[i] - 1, &reach) &&
                 !__builtin_add_overflow(last, reach, &last),
             kValue, "plan: sizes ", value.sizes, " with strides ", value.strides, " overflow");
  }
  if (empty) return 0;
  int64_t bytes = 0;
  TW_CHECK(last < INT64_MAX && !__builtin_mul_overflow(last + 1, int64_t{size_of(value.dtype)}, &bytes),
           kValue, "plan: sizes ", value.sizes, " with strides ", value.strides, " overflow");
  return bytes;
}

}  // namespace tw::plan
