#include <algorithm>
#include <set>

#include "base/error.h"
#include "plan/check.h"
#include "plan/fields.h"
#include "plan/text.h"

namespace tw::plan {

namespace {

// Bounds that keep all arithmetic on offsets and firings far from overflow.
constexpr int64_t kMostBytes = int64_t{1} << 56;
constexpr int64_t kMostDraws = int64_t{1} << 40;
constexpr int kMostRate = 1 << 16, kMostSlots = 1 << 16;

bool inside(int64_t i, size_t count) { return i >= 0 && i < static_cast<int64_t>(count); }

bool is_text(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
}
void check_name(const std::string& name, const char* what) {
  TW_CHECK(!name.empty() && is_text(name), kValue, "plan: the name of a ", what,
           " is a text without control characters, got '", name, '\'');
}
bool is_op_name(const std::string& op) {
  return !op.empty() && std::all_of(op.begin(), op.end(), [](unsigned char c) {
    return c < 0x80 && (isalnum(c) || c == '_' || c == '.');
  });
}

template <class Enum>
bool is_known(Enum value) {
  return static_cast<size_t>(value) < names_of(value).size();
}

void check_head(const Plan& plan) {
  TW_CHECK(plan.version == kPlanVersion, kValue, "plan: version ", kPlanVersion, " is wanted, got ",
           plan.version);
  check_name(plan.name, "plan");
  TW_CHECK(plan.draws >= 0 && plan.draws <= kMostDraws && plan.lower_bound_bytes >= 0, kValue,
           "plan: draws and lower_bound_bytes are not "
           "negative, got ",
           plan.draws, " and ", plan.lower_bound_bytes);
  TW_CHECK(!plan.devices.empty() && !plan.streams.empty() && !plan.actors.empty(), kValue,
           "plan: a device, a stream and an actor are wanted, got ", plan.devices.size(), ", ",
           plan.streams.size(), " and ", plan.actors.size());
  for (const std::string& device : plan.devices) check_name(device, "device");
  for (const std::string& number : plan.numbers) check_name(number, "number");
  TW_CHECK(!plan.strings.empty() && plan.strings[0].empty(), kValue, "plan: string 0 is the empty text");
  TW_CHECK(plan.seal == 0 || plan.seal == seal_of(plan), kValue, "plan: it was changed after it was sealed");
}

void check_segments(const Plan& plan) {
  std::set<std::pair<SegmentKind, int>> seen;
  int counts[5] = {};
  for (size_t i = 0; i < plan.segments.size(); i++) {
    const Segment& s = plan.segments[i];
    TW_CHECK(is_known(s.kind), kValue, "plan: segment ", i, " is of no known kind");
    TW_CHECK(s.size_bytes >= 0 && s.size_bytes <= kMostBytes, kValue, "plan: segment ", i, " has ",
             s.size_bytes, " bytes");
    TW_CHECK(inside(s.device, plan.devices.size()), kValue, "plan: segment ", i, " is on device ", s.device,
             " of ", plan.devices.size());
    TW_CHECK(seen.insert({s.kind, s.index}).second, kValue, "plan: two segments are ",
             kSegmentKinds[static_cast<int>(s.kind)], ' ', s.index);
    counts[static_cast<int>(s.kind)]++;
  }
  for (const Segment& s : plan.segments)
    TW_CHECK(inside(s.index, counts[static_cast<int>(s.kind)]), kValue, "plan: there are ",
             counts[static_cast<int>(s.kind)], " segments of kind ", kSegmentKinds[static_cast<int>(s.kind)],
             ", got number ", s.index);
}

void check_registers(const Plan& plan) {
  for (const Register& r : plan.registers) {
    check_name(r.name, "register");
    TW_CHECK(r.slots >= 1 && r.slots <= kMostSlots && r.rate >= 1 && r.rate <= kMostRate, kValue,
             "plan: register '", r.name, "' has ", r.slots, " slots and rate ", r.rate);
    TW_CHECK(r.initial >= 0 && r.initial <= r.slots, kValue, "plan: register '", r.name, "' begins with ",
             r.initial, " tokens in ", r.slots, " slots");
    TW_CHECK(r.slot_bytes >= 0 && r.slot_bytes <= kMostBytes / kMostSlots && r.offset_bytes >= 0, kValue,
             "plan: register '", r.name, "' has slots of ", r.slot_bytes, " bytes at ", r.offset_bytes);
    if (r.slot_bytes == 0) {
      TW_CHECK(r.segment == -1 && r.offset_bytes == 0, kValue, "plan: register '", r.name,
               "' has no bytes and lies in segment ", r.segment, " at ", r.offset_bytes);
      continue;
    }
    TW_CHECK(r.initial == 0, kValue, "plan: register '", r.name, "' begins with tokens that hold no data");
    TW_CHECK(inside(r.segment, plan.segments.size()) && plan.segments[r.segment].kind == SegmentKind::kArena,
             kValue, "plan: register '", r.name, "' lies in segment ", r.segment, ", which is no arena");
    int64_t room = plan.segments[r.segment].size_bytes;
    TW_CHECK(r.offset_bytes <= room && r.slots * r.slot_bytes <= room - r.offset_bytes, kValue,
             "plan: register '", r.name, "' ends outside its segment of ", room, " bytes");
  }
}

// The bytes that a value may lie in, and what it has to be aligned with.
int64_t room_of(const Plan& plan, const Value& v, size_t i) {
  TW_CHECK((v.segment == -1) != (v.reg == -1), kValue, "plan: value ", i, " lies in segment ", v.segment,
           " and register ", v.reg, "; one of them is wanted");
  if (v.reg == -1) {
    TW_CHECK(inside(v.segment, plan.segments.size()), kValue, "plan: value ", i, " lies in segment ",
             v.segment, " of ", plan.segments.size());
    return plan.segments[v.segment].size_bytes;
  }
  TW_CHECK(inside(v.reg, plan.registers.size()), kValue, "plan: value ", i, " lies in register ", v.reg,
           " of ", plan.registers.size());
  const Register& r = plan.registers[v.reg];
  int64_t unit = size_of(v.dtype);
  TW_CHECK(r.offset_bytes % unit == 0 && r.slot_bytes % unit == 0, kValue, "plan: register '", r.name,
           "' is not aligned for ", v.dtype);
  return r.slot_bytes;
}

void check_values(const Plan& plan) {
  for (size_t i = 0; i < plan.values.size(); i++) {
    const Value& v = plan.values[i];
    TW_CHECK(static_cast<int>(v.dtype) < kDTypeCount, kValue, "plan: value ", i, " is of no known dtype");
    int64_t room = room_of(plan, v, i), span = span_bytes(v);
    TW_CHECK(v.offset_bytes >= 0 && v.advance_bytes >= 0 && v.offset_bytes % size_of(v.dtype) == 0 &&
                 v.advance_bytes % size_of(v.dtype) == 0,
             kValue, "plan: value ", i, " lies at ", v.offset_bytes, ", advancing by ", v.advance_bytes,
             "; multiples of ", size_of(v.dtype), " are wanted");
    TW_CHECK(v.offset_bytes <= room && span <= room - v.offset_bytes, kValue, "plan: value ", i, " of ", span,
             " bytes at ", v.offset_bytes, " ends outside its ", room, " bytes");
    bool arena = v.reg == -1 && plan.segments[v.segment].kind == SegmentKind::kArena;
    if (v.storage == -1) {
      TW_CHECK(v.advance_bytes == 0, kValue, "plan: value ", i, " advances and is no view");
      TW_CHECK(arena || v.reg >= 0 || span == room, kValue, "plan: value ", i, " takes ", span,
               " bytes of a segment of ", room, "; all are wanted");
      continue;
    }
    TW_CHECK(inside(v.storage, plan.values.size()) && plan.values[v.storage].storage == -1, kValue,
             "plan: value ", i, " shows value ", v.storage, ", which owns no bytes");
    const Value& whole = plan.values[v.storage];
    TW_CHECK(whole.segment == v.segment && whole.reg == v.reg, kValue, "plan: value ", i, " shows value ",
             v.storage, ", which lies elsewhere");
    TW_CHECK(v.offset_bytes >= whole.offset_bytes &&
                 v.offset_bytes + span <= whole.offset_bytes + span_bytes(whole),
             kValue, "plan: value ", i, " ends outside value ", v.storage, ", which it shows");
    TW_CHECK(!arena || v.advance_bytes == 0, kValue, "plan: value ", i, " advances in an arena");
  }
}

void check_positions(const std::vector<int>& positions, size_t inputs, bool may_lack, const char* what) {
  std::set<int> seen;
  for (int position : positions) {
    if (may_lack && position == -1) continue;
    TW_CHECK(inside(position, inputs) && seen.insert(position).second, kValue, what, " names input ",
             position, " of ", inputs, ", or names it twice");
  }
}

void check_launch(const Plan& plan, const Actor& actor, const Launch& launch) {
  TW_CHECK(is_op_name(launch.op), kValue, "the name of an op is wanted, got '", launch.op, '\'');
  TW_CHECK(is_known(launch.when), kValue, launch.op, ": it runs in no known firing");
  auto check_all = [&](const std::vector<int>& values, const char* what) {
    for (int v : values)
      TW_CHECK(v == -1 || inside(v, plan.values.size()), kValue, launch.op, ": ", what, " is value ", v,
               " of ", plan.values.size());
  };
  check_all(launch.inputs, "an input");
  check_all(launch.outputs, "an output");
  check_all(launch.becomes, "what an input becomes");
  if (!launch.starts.empty()) {
    TW_CHECK(launch.starts.front() == 0 && std::is_sorted(launch.starts.begin(), launch.starts.end()) &&
                 launch.starts.back() == static_cast<int>(launch.inputs.size()),
             kValue, launch.op, ": starts go from 0 to ", launch.inputs.size(), ", got ", launch.starts);
  }
  check_positions(launch.mutated, launch.inputs.size(), false, "mutated");
  check_positions(launch.in_place, launch.inputs.size(), true, "in_place");
  TW_CHECK(launch.becomes.size() <= launch.mutated.size() && launch.in_place.size() <= launch.outputs.size(),
           kValue, launch.op, ": more of becomes or in_place than inputs are mutated or outputs are there");
  for (int i : launch.mutated)
    TW_CHECK(launch.inputs[i] >= 0, kValue, launch.op, ": input ", i, " is absent");
  for (int i : launch.in_place)
    TW_CHECK(i == -1 || launch.inputs[i] >= 0, kValue, launch.op, ": input ", i, " is absent");
  for (const Lifted& l : launch.lifted)
    TW_CHECK(l.param >= 0 && l.item >= -1 && inside(l.number, plan.numbers.size()), kValue, launch.op,
             ": there is no number ", l.number, " for item ", l.item, " of parameter ", l.param);
  TW_CHECK(inside(launch.module, plan.strings.size()) && inside(launch.origin, plan.strings.size()), kValue,
           launch.op, ": there are no strings ", launch.module, " and ", launch.origin);
  TW_CHECK(launch.node >= -1, kValue, launch.op, ": there is no node ", launch.node);
  TW_CHECK(launch.region == -1 || inside(launch.region, plan.regions.size()), kValue, launch.op,
           ": there is no region ", launch.region);
  TW_CHECK(actor.kind != ActorKind::kHostInput || (launch.lifted.empty() && launch.draw == -1), kValue,
           launch.op, ": a host input runs ahead of the steps, so it has neither numbers nor draws");
  int64_t draws = launch.draw < 0 ? 0 : actor.draws * (actor.rate - 1);
  TW_CHECK(launch.draw == -1 || (launch.draw >= 0 && launch.draw < plan.draws - draws), kValue, launch.op,
           ": the step has ", plan.draws, " draws, got ", launch.draw);
}

// It may fail when it was begun long ago, so it writes no variables; what is in flight has no numbers.
void check_comm(const Actor& actor) {
  TW_CHECK(actor.rate == 1 && actor.launches.size() == 1 && actor.commit == -1, kValue,
           "a communication is one launch a step and writes no variables, got rate ", actor.rate, ", ",
           actor.launches.size(), " launches and commit ", actor.commit);
  const Launch& launch = actor.launches[0];
  TW_CHECK(launch.region == -1 && launch.draw == -1 && launch.lifted.empty() && launch.mutated.empty(),
           kValue, launch.op,
           ": a communication has neither regions nor numbers nor draws, and writes no inputs");
  for (int input : launch.in_place)
    TW_CHECK(input == -1, kValue, launch.op, ": a communication does not write over what it reads");
}

void check_actor(const Plan& plan, const Actor& actor) {
  check_name(actor.name, "actor");
  TW_CHECK(is_known(actor.kind), kValue, "it is of no known kind");
  TW_CHECK(inside(actor.stream, plan.streams.size()), kValue, "there is no stream ", actor.stream);
  StreamKind stream = plan.streams[actor.stream].kind;
  bool fits = actor.kind == ActorKind::kHostCall    ? stream == StreamKind::kHostOutput
              : actor.kind == ActorKind::kHostInput ? stream == StreamKind::kHostInput
              : actor.kind == ActorKind::kComm
                  ? stream == StreamKind::kComm
                  : stream == StreamKind::kCompute || stream == StreamKind::kCopy;
  TW_CHECK(fits, kValue, "a ", kActorKinds[static_cast<int>(actor.kind)],
           " does not run on a stream of kind ", kStreamKinds[static_cast<int>(stream)]);
  TW_CHECK(actor.rate >= 1 && actor.rate <= kMostRate, kValue, "its rate is ", actor.rate);
  TW_CHECK(actor.draws >= 0 && actor.draws <= plan.draws, kValue, "it makes ", actor.draws, " draws of ",
           plan.draws);
  TW_CHECK(actor.commit >= -1 && actor.commit <= static_cast<int>(actor.launches.size()), kValue,
           "its commit begins at launch ", actor.commit, " of ", actor.launches.size());
  check_positions(actor.reads, plan.registers.size(), false, "reads");
  check_positions(actor.writes, plan.registers.size(), false, "writes");
  for (const auto* registers : {&actor.reads, &actor.writes})
    for (int r : *registers)
      TW_CHECK(actor.rate % plan.registers[r].rate == 0, kValue, "its rate ", actor.rate,
               " is no multiple of the rate ", plan.registers[r].rate, " of register '",
               plan.registers[r].name, '\'');
  if (actor.kind == ActorKind::kComm) check_comm(actor);
  for (const Launch& launch : actor.launches) check_launch(plan, actor, launch);
}

void check_writers(const Plan& plan) {
  std::vector<int> writers(plan.registers.size(), 0), readers(plan.registers.size(), 0);
  for (const Actor& actor : plan.actors) {
    for (int r : actor.writes) writers[r]++;
    for (int r : actor.reads) readers[r]++;
  }
  for (size_t r = 0; r < plan.registers.size(); r++)
    TW_CHECK(writers[r] == 1 && readers[r] >= 1, kValue, "plan: register '", plan.registers[r].name, "' has ",
             writers[r], " writers and ", readers[r], " readers; one and at least one are wanted");
}

}  // namespace

void check_structure(const Plan& plan) {
  check_head(plan);
  for (size_t i = 0; i < plan.streams.size(); i++)
    TW_CHECK(is_known(plan.streams[i].kind) && inside(plan.streams[i].device, plan.devices.size()), kValue,
             "plan: stream ", i, " is of no known kind or device");
  check_segments(plan);
  check_registers(plan);
  check_values(plan);
  for (const Region& region : plan.regions)
    TW_CHECK(is_known(region.kind), kValue, "plan: a region is of no known kind");
  for (const Actor& actor : plan.actors) {
    try {
      check_actor(plan, actor);
    } catch (const Error& error) {
      throw Error(error.kind(), cat("plan: actor '", actor.name, "': ", error.what()));
    }
  }
  check_writers(plan);
}

void check_plan(const Plan& plan) {
  check_structure(plan);
  check_regions(plan);
  check_tokens(plan);
  check_meetings(plan);
  check_memory(plan);
}

}  // namespace tw::plan
