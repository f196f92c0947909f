// Builds plans by hand, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace tw::test {

struct PlanBuilder {
  plan::Plan plan;
  PlanBuilder() {
    plan.devices = {"cpu"};
    plan.strings = {""};
  }
  int stream(plan::StreamKind kind = plan::StreamKind::kCompute) {
    plan.streams.push_back({kind, 0});
    return static_cast<int>(plan.streams.size()) - 1;
  }
  int segment(plan::SegmentKind kind, int64_t size_bytes) {
    int index = 0;
    for (const auto& s : plan.segments) index += s.kind == kind;
    plan.segments.push_back({kind, index, size_bytes, 0});
    return static_cast<int>(plan.segments.size()) - 1;
  }
  // A contiguous float32 array in a segment.
  int value(int segment, int64_t offset_bytes, Dims sizes, int storage = -1) {
    plan::Value v;
    v.segment = segment;
    v.offset_bytes = offset_bytes;
    v.sizes = sizes;
    v.strides = contiguous_strides(sizes);
    v.storage = storage;
    plan.values.push_back(v);
    return static_cast<int>(plan.values.size()) - 1;
  }
  int in_register(int reg, Dims sizes, int64_t offset_bytes = 0) {
    int v = value(-1, offset_bytes, sizes);
    plan.values[v].reg = reg;
    return v;
  }
  // The whole of a new segment.
  int bound(plan::SegmentKind kind, Dims sizes) { return value(segment(kind, 4 * numel(sizes)), 0, sizes); }
  int reg(std::string name, int segment, int64_t offset_bytes, int64_t slot_bytes, int slots, int rate = 1) {
    plan.registers.push_back({std::move(name), segment, offset_bytes, slot_bytes, slots, rate, 0});
    return static_cast<int>(plan.registers.size()) - 1;
  }
  plan::Actor& actor(std::string name, int stream = 0, int rate = 1) {
    plan::Actor a;
    a.name = std::move(name);
    a.stream = stream;
    a.rate = rate;
    plan.actors.push_back(a);
    return plan.actors.back();
  }
};

inline plan::Launch& launch(plan::Actor& actor, std::string op, std::vector<int> inputs,
                            std::vector<int> outputs, std::string attrs = "") {
  plan::Launch l;
  l.op = std::move(op);
  l.attrs = std::move(attrs);
  l.inputs = std::move(inputs);
  l.outputs = std::move(outputs);
  l.node = static_cast<int>(actor.launches.size());
  actor.launches.push_back(l);
  return actor.launches.back();
}

}  // namespace tw::test
