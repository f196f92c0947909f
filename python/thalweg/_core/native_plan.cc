// Plans and what their launches cost, as thalweg.jit.plan shows them.
#include <pybind11/stl.h>

#include "ir/cost.h"
#include "ir/graph_text.h"
#include "native.h"
#include "plan/simulate.h"
#include "plan/text.h"
#include "planner/plan_graph.h"

namespace tw::py {

namespace pb = pybind11;

namespace {

const char* name_of(plan::SegmentKind kind) {
  constexpr const char* kNames[] = {"arena", "input", "variable", "constant", "output"};
  return kNames[static_cast<int>(kind)];
}

const char* name_of(plan::StreamKind kind) {
  constexpr const char* kNames[] = {"compute", "host input", "host output", "copy", "communication"};
  return kNames[static_cast<int>(kind)];
}

bool runs_in(const plan::Launch& launch, int64_t phase, int64_t rate) {
  if (launch.when == plan::When::kAlways) return true;
  return phase == (launch.when == plan::When::kFirst ? 0 : rate - 1);
}

// The firings of one step: (actor, phase, begin). `seconds` holds a number for each launch of each actor.
std::vector<std::tuple<int, int64_t, double>> simulate_step(const plan::Plan& plan,
                                                            const std::vector<std::vector<double>>& seconds) {
  plan::SimulateOptions options;
  options.seconds = [&](int actor, int launch, int64_t) { return seconds.at(actor).at(launch); };
  plan::Timeline line = plan::simulate(plan, options);
  TW_CHECK(line.stall.empty(), kValue, "plan: it stalls: ", line.stall);
  std::vector<std::tuple<int, int64_t, double>> firings;
  for (const plan::Firing& one : line.firings) firings.push_back({one.actor, one.firing, one.begin});
  return firings;
}

}  // namespace

void bind_plan(pb::module_& m) {
  pb::class_<ir::Cost>(m, "Cost")
      .def_readonly("flops", &ir::Cost::flops)
      .def_readonly("bytes", &ir::Cost::bytes);

  pb::class_<plan::Segment>(m, "PlanSegment")
      .def_property_readonly("kind", [](const plan::Segment& segment) { return name_of(segment.kind); })
      .def_readonly("size_bytes", &plan::Segment::size_bytes);
  pb::class_<plan::Stream>(m, "PlanStream")
      .def_property_readonly("kind", [](const plan::Stream& stream) { return name_of(stream.kind); })
      .def_readonly("device", &plan::Stream::device);
  pb::class_<plan::Register>(m, "PlanRegister")
      .def_readonly("name", &plan::Register::name)
      .def_readonly("segment", &plan::Register::segment)
      .def_readonly("offset_bytes", &plan::Register::offset_bytes)
      .def_readonly("slot_bytes", &plan::Register::slot_bytes)
      .def_readonly("slots", &plan::Register::slots);
  pb::class_<plan::Value>(m, "PlanValue")
      .def_readonly("segment", &plan::Value::segment)
      .def_readonly("offset_bytes", &plan::Value::offset_bytes)
      .def_readonly("storage", &plan::Value::storage)
      .def_property_readonly("span_bytes", plan::span_bytes)
      .def_property_readonly(
          "size_bytes", [](const plan::Value& value) { return numel(value.sizes) * size_of(value.dtype); })
      .def_property_readonly(
          "type", [](const plan::Value& value) { return ir::type_text(value.dtype, value.sizes); });
  pb::class_<plan::Launch>(m, "PlanLaunch")
      .def_readonly("op", &plan::Launch::op)
      .def_readonly("attrs", &plan::Launch::attrs)
      .def_readonly("inputs", &plan::Launch::inputs)
      .def_readonly("outputs", &plan::Launch::outputs)
      .def_readonly("mutated", &plan::Launch::mutated)
      .def_readonly("becomes", &plan::Launch::becomes)
      .def_readonly("in_place", &plan::Launch::in_place)
      .def_readonly("module", &plan::Launch::module)
      .def_readonly("origin", &plan::Launch::origin)
      .def_readonly("node", &plan::Launch::node)
      .def("runs_in", runs_in, pb::arg("phase"), pb::arg("rate"));
  pb::class_<plan::Actor>(m, "PlanActor")
      .def_readonly("name", &plan::Actor::name)
      .def_readonly("stream", &plan::Actor::stream)
      .def_readonly("rate", &plan::Actor::rate)
      .def_readonly("launches", &plan::Actor::launches);
  pb::class_<plan::Plan, std::shared_ptr<plan::Plan>>(m, "Plan")
      .def_static(
          "parse",
          [](const std::string& text) { return std::make_shared<plan::Plan>(plan::parse_plan(text)); })
      .def_readonly_static("ALIGNMENT", &planner::kArenaAlignment)
      .def("__str__", plan::print_plan)
      .def("simulate_step", simulate_step)
      .def_readonly("name", &plan::Plan::name)
      .def_readonly("lower_bound_bytes", &plan::Plan::lower_bound_bytes)
      .def_readonly("devices", &plan::Plan::devices)
      .def_readonly("strings", &plan::Plan::strings)
      .def_readonly("segments", &plan::Plan::segments)
      .def_readonly("streams", &plan::Plan::streams)
      .def_readonly("registers", &plan::Plan::registers)
      .def_readonly("values", &plan::Plan::values)
      .def_readonly("actors", &plan::Plan::actors);
}

}  // namespace tw::py
