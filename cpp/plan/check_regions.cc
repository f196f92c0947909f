// Control flow: each region belongs to one launch, whose operands are what the plans in it are bound to.
#include <algorithm>

#include "base/error.h"
#include "plan/check.h"

namespace tw::plan {

namespace {

constexpr int64_t kMostElementBytes = 16;  // complex128

// The memory that a body wants from its launch.
struct Wants {
  std::vector<int64_t> arenas;                      // of each device
  std::vector<int64_t> inputs, variables, outputs;  // bytes
};

// It runs on the thread of its launch, in memory that the launch is given.
void check_actors(const Plan& body, bool meets) {
  int compute = -1;
  for (const Actor& actor : body.actors) {
    const bool chain = actor.kind == ActorKind::kChain;
    TW_CHECK((chain || actor.kind == ActorKind::kComm) && actor.rate == 1, kValue, "actor '", actor.name,
             "' of the plan of a region is neither a chain nor a communication of rate 1");
    TW_CHECK(chain || meets, kValue, "processes meet in the plan of a region, in '", actor.name,
             "', and it does not say so");
    TW_CHECK(!chain || compute < 0 || compute == actor.stream, kValue,
             "the chains of the plan of a region are on streams ", compute, " and ", actor.stream);
    if (chain) compute = actor.stream;
  }
  for (const Register& reg : body.registers)
    TW_CHECK(reg.segment < 0, kValue, "register '", reg.name, "' of the plan of a region has bytes");
}

Wants wants_of(const Plan& body) {
  Wants wants;
  for (const Segment& segment : body.segments) {
    TW_CHECK(segment.kind != SegmentKind::kConstant, kValue, "the plan of a region has a constant");
    if (segment.kind == SegmentKind::kArena) {
      TW_CHECK(segment.index == segment.device, kValue, "arena ", segment.index,
               " of the plan of a region is on device ", segment.device);
      wants.arenas.resize(body.devices.size());
      wants.arenas[segment.index] = segment.size_bytes;
      continue;
    }
    auto& list = segment.kind == SegmentKind::kInput      ? wants.inputs
                 : segment.kind == SegmentKind::kVariable ? wants.variables
                                                          : wants.outputs;
    list.resize(std::max(list.size(), static_cast<size_t>(segment.index) + 1));
    list[segment.index] = segment.size_bytes;
  }
  return wants;
}

class LaunchCheck {
 public:
  LaunchCheck(const Plan& plan, const Launch& launch)
      : plan_(plan), launch_(launch), region_(plan.regions[launch.region]) {}

  void run() const {
    bool loop = region_.kind == RegionKind::kLoop;
    TW_CHECK(region_.bodies.size() == (loop ? 1 : 2), kValue, "its region has ", region_.bodies.size(),
             " plans");
    TW_CHECK(region_.meets == 0 || region_.meets == 1, kValue, "whether processes meet in it is ",
             region_.meets);
    TW_CHECK(launch_.lifted.empty() && launch_.mutated.empty(), kValue,
             "control flow has no numbers of its own and writes no inputs");
    TW_CHECK(!launch_.inputs.empty() && !launch_.outputs.empty(), kValue,
             "control flow has a predicate and an arena");
    std::vector<int64_t> arenas(region_.bodies[0].devices.size());
    for (const Plan& body : region_.bodies) {
      TW_CHECK(body.numbers == plan_.numbers, kValue, "the plan of a region knows other numbers");
      TW_CHECK(body.devices.size() == arenas.size(), kValue, "the plans of a region are for ", arenas.size(),
               " and ", body.devices.size(), " devices");
      check_actors(body, region_.meets);
      Wants wants = wants_of(body);
      for (size_t i = 0; i < wants.arenas.size(); i++) arenas[i] = std::max(arenas[i], wants.arenas[i]);
      bool draws = body.draws > 0;
      TW_CHECK(!draws || launch_.draw >= 0, kValue, "its region draws random numbers, and it has no draw");
      TW_CHECK(launch_.draw < 0 || launch_.draw + draws_of(plan_, launch_) <= plan_.draws, kValue,
               "its region takes ", draws_of(plan_, launch_), " draws from ", launch_.draw, " on, of ",
               plan_.draws);
      loop ? check_loop(wants) : check_cond(wants);
    }
    TW_CHECK(launch_.outputs.size() >= arenas.size(), kValue, "control flow has an arena for each of ",
             arenas.size(), " devices, got ", launch_.outputs.size(), " outputs");
    for (size_t i = 0; i < arenas.size(); i++)
      check_arena(value(launch_.outputs[launch_.outputs.size() - arenas.size() + i], "the arena"), arenas[i]);
  }

 private:
  static void check_arena(const Value& scratch, int64_t bytes) {
    TW_CHECK(scratch.dtype == DType::kUInt8 && span_bytes(scratch) == bytes, kValue,
             "its last output is the arena of its plans, ", bytes, " bytes, got ", span_bytes(scratch));
    TW_CHECK(bytes == 0 || scratch.offset_bytes % kMostElementBytes == 0, kValue,
             "the arena of its plans begins at byte ", scratch.offset_bytes, ", no multiple of ",
             kMostElementBytes);
  }
  const Value& value(int number, const char* what) const {
    TW_CHECK(number >= 0, kValue, what, " is absent");
    const Value& v = plan_.values[number];
    int64_t count = 1;
    for (size_t i = v.sizes.size(); i-- > 0; count *= v.sizes[i])
      TW_CHECK(v.sizes[i] == 1 || numel(v.sizes) == 0 || v.strides[i] == count, kValue, "value ", number,
               ", an operand of control flow, has gaps or does not lie in row-major order");
    return v;
  }
  void want(int number, int64_t bytes, const char* what) const {
    const Value& v = value(number, what);
    TW_CHECK(span_bytes(v) == bytes, kValue, what, " is value ", number, " of ", span_bytes(v),
             " bytes, the plan of the region takes ", bytes);
  }
  // One part of a value that holds `length` of them.
  void want_part(int number, int64_t bytes, const char* what) const {
    const Value& v = value(number, what);
    TW_CHECK(region_.length >= 0 && !v.sizes.empty() && v.sizes[0] == region_.length &&
                 span_bytes(v) == bytes * region_.length,
             kValue, what, " is value ", number, " of ", span_bytes(v),
             " bytes, the plan of the region takes ", region_.length, " parts of ", bytes);
  }
  void want_scalar(int number, DType dtype, const char* what) const {
    const Value& v = value(number, what);
    TW_CHECK(v.dtype == dtype && v.sizes.empty(), kValue, what, " is value ", number, ", no ", dtype,
             " scalar");
  }
  void want_counts(size_t inputs, size_t outputs) const {  // but for arenas
    outputs += region_.bodies[0].devices.size();
    TW_CHECK(launch_.inputs.size() == inputs && launch_.outputs.size() == outputs, kValue, inputs,
             " inputs and ", outputs, " outputs are wanted, got ", launch_.inputs.size(), " and ",
             launch_.outputs.size());
  }

  void check_cond(const Wants& wants) const {
    TW_CHECK(wants.variables.empty(), kValue, "the plan of a branch has variables");
    want_counts(wants.inputs.size() + 1, wants.outputs.size());
    want_scalar(launch_.inputs[0], DType::kBool, "the predicate");
    for (size_t i = 0; i < wants.inputs.size(); i++)
      want(launch_.inputs[i + 1], wants.inputs[i], "an operand");
    for (size_t i = 0; i < wants.outputs.size(); i++) want(launch_.outputs[i], wants.outputs[i], "a result");
  }

  void check_loop(const Wants& wants) const {
    TW_CHECK(region_.length >= -1 && region_.carried >= 0 && region_.slices >= 0 &&
                 wants.variables.size() == static_cast<size_t>(region_.carried) &&
                 wants.inputs.size() >= static_cast<size_t>(region_.slices),
             kValue, "the loop carries ", region_.carried, " values and takes ", region_.slices,
             " in parts; its plan has ", wants.variables.size(), " variables and ", wants.inputs.size(),
             " inputs");
    bool pred = launch_.inputs[0] >= 0;
    TW_CHECK(region_.parts == 0 || (region_.parts == 1 && !pred && launch_.inputs[1] < 0 && !region_.reverse),
             kValue, "a loop over the parts of a batch runs its length, from the first to the last");
    TW_CHECK(pred || region_.length >= 0, kValue, "the loop has neither a predicate nor a length");
    size_t carried = wants.variables.size(), slices = region_.slices;
    TW_CHECK(wants.outputs.size() >= pred, kValue, "the plan of the loop does not say whether it goes on");
    want_counts(2 + carried + wants.inputs.size(), carried + wants.outputs.size() - pred);
    if (pred) want_scalar(launch_.inputs[0], DType::kBool, "the predicate");
    if (pred) TW_CHECK(wants.outputs[0] == 1, kValue, "whether the loop goes on is no bool");
    if (launch_.inputs[1] >= 0) want_scalar(launch_.inputs[1], DType::kInt64, "the number of trips");
    for (size_t i = 0; i < carried; i++) {
      want(launch_.inputs[2 + i], wants.variables[i], "a carried value");
      want(launch_.outputs[i], wants.variables[i], "a carried value");
    }
    for (size_t i = 0; i < wants.inputs.size(); i++) {
      int operand = launch_.inputs[2 + carried + i];
      i < slices ? want_part(operand, wants.inputs[i], "a slice")
                 : want(operand, wants.inputs[i], "a capture");
    }
    for (size_t i = pred; i < wants.outputs.size(); i++)
      want_part(launch_.outputs[carried + i - pred], wants.outputs[i], "a stacked result");
  }

  const Plan& plan_;
  const Launch& launch_;
  const Region& region_;
};

// What a region draws moves later draws: they may not have been taken before it runs.
void check_draws(const Plan& plan, const Actor& actor) {
  int64_t highest = -1;
  for (const Launch& launch : actor.launches) {
    TW_CHECK(!has_open_draws(plan, launch) || launch.draw > highest, kValue, "a region with draw ",
             launch.draw, " runs after draw ", highest);
    int64_t last = launch.region < 0 ? launch.draw : launch.draw + draws_of(plan, launch) - 1;
    highest = std::max(highest, last);
  }
}

// The plans in regions first: what is asked about a launch of control flow looks into them.
void check_bodies(const Plan& plan) {
  for (size_t i = 0; i < plan.regions.size(); i++) {
    for (const Plan& body : plan.regions[i].bodies) {
      try {
        check_plan(body);
      } catch (const Error& error) {
        throw Error(error.kind(), cat("plan: region ", i, ": ", error.what()));
      }
    }
  }
}

}  // namespace

void check_regions(const Plan& plan) {
  check_bodies(plan);
  std::vector<int> used(plan.regions.size());
  bool open = has_open_draws(plan);
  TW_CHECK(!open || (plan.actors.size() == 1 && plan.actors[0].rate == 1), kValue,
           "plan: a region draws random numbers, so that one actor of rate 1 is wanted");
  for (const Actor& actor : plan.actors) {
    for (size_t i = 0; i < actor.launches.size(); i++) {
      const Launch& launch = actor.launches[i];
      if (launch.region < 0) continue;
      used[launch.region]++;
      try {
        LaunchCheck(plan, launch).run();
      } catch (const Error& error) {
        throw Error(error.kind(),
                    cat("plan: actor '", actor.name, "', launch ", i, " (", launch.op, "): ", error.what()));
      }
    }
    if (open) check_draws(plan, actor);
  }
  for (size_t i = 0; i < used.size(); i++)
    TW_CHECK(used[i] == 1, kValue, "plan: region ", i, " has ", used[i], " launches; one is wanted");
}

}  // namespace tw::plan
