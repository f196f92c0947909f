// Plans written by hand that together use every feature. Ops are those of runtime/kernels.h.
#pragma once

#include <map>

#include "plan/builder.h"

namespace tw::test {

using plan::ActorKind;
using plan::SegmentKind;
using plan::StreamKind;
using plan::When;

// One chain: out = (x + w) · lr + draw; w = w + x.
inline plan::Plan chain_plan() {
  PlanBuilder b;
  b.stream();
  int arena = b.segment(SegmentKind::kArena, 128);
  int x = b.bound(SegmentKind::kInput, {2, 2}), w = b.bound(SegmentKind::kVariable, {2, 2});
  int out = b.bound(SegmentKind::kOutput, {2, 2});
  int sum = b.value(arena, 0, {2, 2}), noise = b.value(arena, 64, {2, 2});
  int mixed = b.value(arena, 0, {2, 2}), rows = b.value(arena, 8, {2}, mixed);
  int row = b.bound(SegmentKind::kOutput, {2});
  int new_w = b.value(b.plan.values[w].segment, 0, {2, 2});
  b.plan.name = "chain";
  b.plan.strings = {"", "net.0", "train.py:7"};
  b.plan.numbers = {"lr"};
  b.plan.draws = 3;
  b.plan.lower_bound_bytes = 32;
  plan::Actor& step = b.actor("step");
  launch(step, "add", {x, w}, {sum});
  launch(step, "draw", {}, {noise}).draw = 2;
  plan::Launch& mix = launch(step, "mix", {sum, noise}, {mixed});
  mix.lifted = {{0, -1, 0}};
  mix.in_place = {0};
  launch(step, "copy", {mixed}, {out});
  launch(step, "copy", {rows}, {row});
  plan::Launch& update = launch(step, "accumulate", {w, x}, {});
  update.mutated = {0};
  update.becomes = {new_w};
  update.module = 1;
  update.origin = 2;
  step.commit = 5;
  return b.plan;
}

// Two stages on two streams with `credit` slots between them: out = (x + x) + x... through scratch of both.
inline plan::Plan pipeline_plan(int credit = 2) {
  PlanBuilder b;
  b.stream();
  b.stream();
  int arena = b.segment(SegmentKind::kArena, 1024);
  int h = b.reg("h", arena, 0, 64, credit), x = b.bound(SegmentKind::kInput, {4}),
      out = b.bound(SegmentKind::kOutput, {4});
  int early = b.value(arena, 768, {4}), late = b.value(arena, 832, {4});
  int sent = b.in_register(h, {4}, 16);
  b.plan.name = "pipeline";
  plan::Actor& first = b.actor("first");
  launch(first, "add", {x, x}, {early});
  launch(first, "hook", {early}, {sent}, "1");
  first.writes = {h};
  plan::Actor& second = b.actor("second", 1);
  launch(second, "hook", {sent}, {late}, "2");
  launch(second, "add", {late, sent}, {out});
  second.reads = {h};
  return b.plan;
}

// Micro-batches: four parts of x go through two stages; the sum of the parts' results is kept over the
// firings of the second, and the update, once a step, adds it to the variable that the first stage reads. out
// gets the parts' results side by side, total the sum.
inline plan::Plan micro_plan() {
  PlanBuilder b;
  b.stream();
  b.stream();
  b.plan.name = "micro";
  b.plan.draws = 8;
  int arena = b.segment(SegmentKind::kArena, 512);
  int h = b.reg("h", arena, 0, 8, 2, 4), sum = b.reg("sum", arena, 64, 8, 1), go = b.reg("go", -1, 0, 0, 1);
  b.plan.registers[go].initial = 1;
  int x = b.bound(SegmentKind::kInput, {4, 2}), w = b.bound(SegmentKind::kVariable, {2});
  int out = b.bound(SegmentKind::kOutput, {4, 2}), total = b.bound(SegmentKind::kOutput, {2});
  int part = b.value(b.plan.values[x].segment, 0, {2}, x),
      result = b.value(b.plan.values[out].segment, 0, {2}, out);
  b.plan.values[part].advance_bytes = b.plan.values[result].advance_bytes = 8;
  int sent = b.in_register(h, {2}), summed = b.in_register(sum, {2});
  int noise = b.value(arena, 128, {2}), count = b.value(arena, 136, {2}),
      new_w = b.value(b.plan.values[w].segment, 0, {2});
  plan::Actor& first = b.actor("first", 0, 4);
  launch(first, "draw", {}, {noise}).draw = 1;
  launch(first, "hook", {part, w, noise}, {sent});
  first.draws = 2;
  first.reads = {go};
  first.writes = {h};
  plan::Actor& second = b.actor("second", 1, 4);
  launch(second, "fill", {}, {summed}, "0").when = When::kFirst;
  launch(second, "fill", {}, {count}, "0").when = When::kFirst;
  launch(second, "accumulate", {summed, sent}, {}).mutated = {0};
  launch(second, "accumulate", {count, sent}, {}).mutated = {0};
  launch(second, "copy", {sent}, {result});
  launch(second, "copy", {count}, {total}).when = When::kLast;
  second.reads = {h};
  second.writes = {sum};
  plan::Actor& update = b.actor("update", 0);
  plan::Launch& add = launch(update, "accumulate", {w, summed}, {});
  add.mutated = {0};
  add.becomes = {new_w};
  update.commit = 0;
  update.reads = {sum};
  update.writes = {go};
  return b.plan;
}

// A host input that reads ahead, a chain, and a host call that looks at the result.
inline plan::Plan host_plan() {
  PlanBuilder b;
  b.stream();
  b.stream(StreamKind::kHostInput);
  b.stream(StreamKind::kHostOutput);
  b.plan.name = "host";
  int arena = b.segment(SegmentKind::kArena, 256);
  int batch = b.reg("batch", arena, 0, 16, 3), metric = b.reg("metric", arena, 64, 16, 2);
  int x = b.in_register(batch, {4}), y = b.in_register(metric, {4}), out = b.bound(SegmentKind::kOutput, {4});
  plan::Actor& load = b.actor("load", 1);
  load.kind = ActorKind::kHostInput;
  launch(load, "load", {}, {x});
  load.writes = {batch};
  plan::Actor& step = b.actor("step");
  launch(step, "add", {x, x}, {y});
  launch(step, "copy", {y}, {out});
  step.reads = {batch};
  step.writes = {metric};
  plan::Actor& show = b.actor("show", 2);
  show.kind = ActorKind::kHostCall;
  launch(show, "show", {y}, {});
  show.reads = {metric};
  return b.plan;
}

// Two communications and the chains around them, in an arena whose values cross from actor to actor: a = x +
// x; s is what comes of a; beside it t = a + 2; u is what comes of t; out = s + t + u, whose first sum lies
// where a did.
inline plan::Plan comm_plan() {
  PlanBuilder b;
  b.stream();
  b.stream(StreamKind::kComm);
  b.plan.name = "comm";
  int arena = b.segment(SegmentKind::kArena, 256);
  int x = b.bound(SegmentKind::kInput, {4}), out = b.bound(SegmentKind::kOutput, {4});
  int a = b.value(arena, 0, {4}), s = b.value(arena, 64, {4}), t = b.value(arena, 128, {4}),
      u = b.value(arena, 192, {4}), sum = b.value(arena, 0, {4});
  auto actor = [&](const char* name, std::vector<int> reads) -> plan::Actor& {
    plan::Actor& made = b.actor(name);
    made.reads = std::move(reads);
    made.writes = {b.reg(name, -1, 0, 0, 1)};
    return made;
  };
  launch(actor("before", {4}), "add", {x, x}, {a});
  for (int number : {0, 1}) {
    plan::Actor& meeting = number == 0 ? actor("meeting", {0}) : actor("another", {2, 1});
    meeting.kind = ActorKind::kComm;
    meeting.stream = 1;
    launch(meeting, "meet", {number == 0 ? a : t}, {number == 0 ? s : u}, "1").module = number;
    if (number == 0) launch(actor("beside", {0}), "hook", {a}, {t}, "2");
  }
  plan::Actor& after = actor("after", {2, 3});
  launch(after, "add", {s, t}, {sum});
  launch(after, "add", {sum, u}, {out});
  b.plan.registers[4].initial = 1;
  b.plan.strings = {"", "net.2"};
  return b.plan;
}

// Where a communication adds 1 and `hook` adds 2: s = a + 1, t = a + 2, u = t + 1.
inline float comm_result(float x) { return (2 * x + 1) + (2 * x + 2) + (2 * x + 3); }

// The body of a loop over parts: out = part + w + draw, which the accumulator takes in.
inline plan::Plan part_plan() {
  PlanBuilder b;
  b.stream();
  b.plan.name = "part";
  b.plan.draws = 1;
  int arena = b.segment(SegmentKind::kArena, 16);
  int part = b.bound(SegmentKind::kInput, {2}), w = b.bound(SegmentKind::kInput, {2});
  int total = b.bound(SegmentKind::kVariable, {2}), out = b.bound(SegmentKind::kOutput, {2});
  int noise = b.value(arena, 0, {2}), sum = b.value(arena, 8, {2});
  int new_total = b.value(b.plan.values[total].segment, 0, {2});
  plan::Actor& actor = b.actor("part");
  launch(actor, "draw", {}, {noise}).draw = 0;
  launch(actor, "hook", {part, w, noise}, {sum});
  launch(actor, "copy", {sum}, {out});
  plan::Launch& add = launch(actor, "accumulate", {total, sum}, {});
  add.mutated = {0};
  add.becomes = {new_total};
  actor.commit = 3;
  b.plan.lower_bound_bytes = 16;
  return b.plan;
}

// A branch: y = x + x, or y = number.
inline plan::Plan branch_plan(bool doubles) {
  PlanBuilder b;
  b.stream();
  b.plan.name = doubles ? "then" : "else";
  int x = b.bound(SegmentKind::kInput, {2}), y = b.bound(SegmentKind::kOutput, {2});
  plan::Actor& actor = b.actor("branch");
  doubles ? launch(actor, "add", {x, x}, {y}) : launch(actor, "fill", {}, {y}, "5");
  return b.plan;
}

// Control flow: a loop over the four parts of a batch leaves their results side by side and their sum; a cond
// on a byte of memory that is true doubles the sum.
inline plan::Plan control_plan() {
  PlanBuilder b;
  b.stream();
  b.plan.name = "control";
  b.plan.draws = 2;
  int arena = b.segment(SegmentKind::kArena, 256);
  int x = b.bound(SegmentKind::kInput, {4, 2}), w = b.bound(SegmentKind::kInput, {2});
  int parts = b.bound(SegmentKind::kOutput, {4, 2}), out = b.bound(SegmentKind::kOutput, {2});
  int noise = b.bound(SegmentKind::kOutput, {2});
  int zeros = b.value(arena, 0, {2}), total = b.value(arena, 64, {2}), pred = b.value(arena, 128, {});
  int loop_arena = b.value(arena, 192, {16}), cond_arena = b.value(arena, 192, {0});
  b.plan.values[loop_arena].dtype = b.plan.values[cond_arena].dtype = DType::kUInt8;
  int truth = b.value(arena, 128, {}, pred);
  b.plan.values[truth].dtype = DType::kBool;
  plan::Region parts_of, either;
  parts_of.kind = plan::RegionKind::kLoop;
  parts_of.carried = parts_of.slices = parts_of.parts = 1;
  parts_of.length = 4;
  parts_of.bodies = {part_plan()};
  either.bodies = {branch_plan(true), branch_plan(false)};
  b.plan.regions = {parts_of, either};
  plan::Actor& actor = b.actor("control");
  launch(actor, "fill", {}, {zeros}, "0");
  launch(actor, "fill", {}, {pred}, "2.36942783e-38");  // whose lowest byte is 1
  plan::Launch& loop = launch(actor, "loop", {-1, -1, zeros, x, w}, {total, parts, loop_arena});
  loop.draw = 0;
  loop.region = 0;
  launch(actor, "cond", {truth, total}, {out, cond_arena}).region = 1;
  launch(actor, "draw", {}, {noise}).draw = 1;
  return b.plan;
}

inline std::map<std::string, plan::Plan> sample_plans() {
  return {{"chain", chain_plan()}, {"pipeline", pipeline_plan()}, {"micro", micro_plan()},
          {"host", host_plan()},   {"comm", comm_plan()},         {"control", control_plan()}};
}

}  // namespace tw::test
