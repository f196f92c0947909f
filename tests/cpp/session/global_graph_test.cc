// Graphs of global values on several devices of this process, against the same graph on one.
#include "session/global_graph.h"

#include <functional>

#include "boxing/executor.h"
#include "comm/world.h"
#include "device/backend.h"
#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "session/program.h"
#include "test.h"

using namespace tw;
using namespace tw::session;

namespace {

// A step of training of a small network; of_x, of_a and of_b say how its leaves lie.
constexpr const char* kStep = R"ir(graph "step" {
  input %0 "x" : float32[10, 6] of_x
  variable %1 "up" : float32[16, 6] of_a
  variable %2 "down" : float32[6, 16] of_b
  %3 = linear(%0, %1, None) : float32[10, 16]
  %4 = gelu(%3) : float32[10, 16]
  %5 = linear(%4, %2, None) : float32[10, 6]
  %6 = sub(%5, %0) : float32[10, 6]
  %7 = mul(%6, %6) : float32[10, 6]
  %8 = sum(%7) : float32[]
  %9 = transpose(%6, dim0=0, dim1=1) : float32[6, 10]
  %10 = mm(%9, %4) : float32[6, 16]
  %11 = mm(%6, %2) : float32[10, 16]
  %12 = transpose(%11, dim0=0, dim1=1) : float32[16, 10]
  %13 = mm(%12, %0) : float32[16, 6]
  %14 = sub(%1, %13, alpha=0.01) : float32[16, 6]
  %15 = sub(%2, %10, alpha=0.01) : float32[6, 16]
  assign %1 = %14
  assign %2 = %15
  return %8, %6
}
)ir";

std::string with(std::string text, std::string_view name, const std::string& layout) {
  return text.replace(text.find(name), name.size(), layout);
}

std::unique_ptr<ir::Graph> graph_of(const std::string& x, const std::string& a, const std::string& b) {
  auto at = [](const std::string& layout) { return layout.empty() ? "" : "@" + layout; };
  return ir::parse_graph(with(with(with(kStep, "of_x", at(x)), "of_a", at(a)), "of_b", at(b)));
}

float* data(const eager::Tensor& tensor) { return static_cast<float*>(tensor->data()); }

eager::Tensor values_for(const ir::Leaf& leaf) {
  eager::Tensor tensor = eager::empty(leaf.value->sizes, leaf.value->dtype);
  for (int64_t i = 0; i < tensor->count(); i++)
    data(tensor)[i] = static_cast<float>((i * 37 + 11) % 23 - 11) / 16;
  return tensor;
}

void for_each_element(const sbp::Box& box, const Dims& sizes,
                      const std::function<void(int64_t, int64_t)>& body) {
  for (int64_t i = 0; i < numel(box.sizes); i++) {
    int64_t rest = i, whole = 0, stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      whole += (box.first[d] + rest % box.sizes[d]) * stride;
      rest /= box.sizes[d];
      stride *= sizes[d];
    }
    body(i, whole);
  }
}

sbp::Box box_of(const ir::GraphValue& value, int64_t rank) {
  return sbp::box_of(*value.layout, value.sizes, value.layout->placement->position_of(rank));
}

eager::Tensor part_of(const eager::Tensor& whole, const ir::GraphValue& value, int64_t rank) {
  sbp::Box box = box_of(value, rank);
  eager::Tensor part = eager::empty(box.sizes, whole->dtype);
  for_each_element(box, value.sizes, [&](int64_t i, int64_t at) { data(part)[i] = data(whole)[at]; });
  return part;
}

void check_part(const eager::Tensor& part, const eager::Tensor& whole, const ir::GraphValue& value,
                int64_t rank) {
  sbp::Box box = box_of(value, rank);
  CHECK_EQ(part->sizes, box.sizes);
  for_each_element(box, value.sizes, [&](int64_t i, int64_t at) {
    CHECK(std::abs(data(part)[i] - data(whole)[at]) <= 1e-4f * (1 + std::abs(data(whole)[at])));
  });
}

// Three steps on one device, and on the devices of the layouts.
void check_step(int devices, const std::string& x, const std::string& a, const std::string& b) {
  eager::initialize();
  comm::set_devices(devices);
  auto plain = graph_of("", "", "");
  eager::Tensor input = values_for(plain->inputs[0]);
  std::vector<eager::Tensor> whole;
  for (const ir::Leaf& leaf : plain->variables) whole.push_back(values_for(leaf));
  auto logical = graph_of(x, a, b);
  passes::ProcessGraph cut = lay_out(*logical);
  std::vector<eager::Tensor> inputs, parts;
  for (const passes::PartOf& one : cut.inputs)
    inputs.push_back(part_of(input, *logical->inputs[one.index].value, one.rank));
  for (const passes::PartOf& one : cut.variables)
    parts.push_back(part_of(whole[one.index], *logical->variables[one.index].value, one.rank));
  Program on_one(std::move(plain), whole, {});
  Program on_all(std::move(cut.graph), parts, {});
  for (int step = 0; step < 3; step++) {
    std::vector<eager::Tensor> wanted = on_one.run({&input, 1}, {}), got = on_all.run(inputs, {});
    for (size_t i = 0; i < got.size(); i++) {
      const passes::PartOf& one = cut.outputs[i];
      check_part(got[i], wanted[one.index], ir::graph_value(logical->outputs[one.index]), one.rank);
    }
    for (size_t i = 0; i < parts.size(); i++) {
      const passes::PartOf& one = cut.variables[i];
      check_part(parts[i], whole[one.index], *logical->variables[one.index].value, one.rank);
    }
  }
  comm::set_devices(1);
}

}  // namespace

TEST(data_parallel) {
  check_step(2, "cpu[0, 1] S(0)", "cpu[0, 1] B", "cpu[0, 1] B");
  check_step(4, "cpu[3, 1, 0, 2] S(0)", "cpu[3, 1, 0, 2] B", "cpu[3, 1, 0, 2] B");
  check_step(2, "cpu[0, 1] S(0, sizes=[10, 0])", "cpu[0, 1] B", "cpu[0, 1] B");
}

TEST(tensor_parallel) {
  check_step(2, "cpu[0, 1] B", "cpu[0, 1] S(0)", "cpu[0, 1] S(1)");
  check_step(4, "cpu[0, 1, 2, 3] B", "cpu[0, 1, 2, 3] S(0, unit=4)", "cpu[0, 1, 2, 3] S(1, unit=4)");
  check_step(3, "cpu[0, 1, 2] S(1)", "cpu[0, 1, 2] S(1)", "cpu[0, 1, 2] S(0)");
}

TEST(both) {
  check_step(4, "cpu[[0, 1], [2, 3]] (S(0), B)", "cpu[[0, 1], [2, 3]] (B, S(0))",
             "cpu[[0, 1], [2, 3]] (B, S(1))");
  check_step(6, "cpu[[0, 1, 2], [3, 4, 5]] (S(0), B)", "cpu[[0, 1, 2], [3, 4, 5]] (S(1), S(0))",
             "cpu[[0, 1, 2], [3, 4, 5]] (B, B)");
}

// Each device has memory of its own, as much as its part of the step takes.
TEST(arenas_of_devices) {
  eager::initialize();
  comm::set_devices(3);
  auto logical = ir::parse_graph(R"ir(graph "g" {
  input %0 "x" : float32[640, 100] @cpu[2, 0, 1] S(0, sizes=[480, 160, 0])
  %1 = exp(%0) : float32[640, 100] @cpu[2, 0, 1] S(0, sizes=[480, 160, 0])
  %2 = flip(%1, dims=[1]) : float32[640, 100] @cpu[2, 0, 1] S(0, sizes=[480, 160, 0])
  %3 = sum(%2) : float32[] @cpu[2, 0, 1] P(sum)
  %4 = boxing(%3) : float32[] @cpu[2, 0, 1] B
  return %4
}
)ir");
  passes::ProcessGraph cut = lay_out(*logical);
  eager::Tensor x = values_for(logical->inputs[0]);
  std::vector<eager::Tensor> inputs;
  for (const passes::PartOf& one : cut.inputs)
    inputs.push_back(part_of(x, *logical->inputs[0].value, one.rank));
  std::vector<int64_t> before;
  for (int device = 0; device < 3; device++)
    before.push_back(device::cpu_backend().memory_stats(device).allocated_bytes);
  Program program(std::move(cut.graph), {}, {});
  CHECK_EQ(program.plan().devices, (std::vector<std::string>{"cpu", "cpu:1", "cpu:2"}));
  for (int device = 0; device < 3; device++) {
    const plan::Segment& arena = program.plan().segments[device];
    CHECK(arena.kind == plan::SegmentKind::kArena && arena.device == device);
    int64_t rows[] = {160, 0, 480}, values = 2 * rows[device] * 400;  // exp and flip
    CHECK_GE(arena.size_bytes, values);
    CHECK_LE(arena.size_bytes, values + 256);
    int64_t taken = device::cpu_backend().memory_stats(device).allocated_bytes - before[device];
    CHECK_GE(taken, arena.size_bytes);
    CHECK_LE(taken, 2 * arena.size_bytes + 8192);
  }
  eager::Tensor sum = program.run(inputs, {})[0];
  double wanted = 0;
  for (int64_t i = 0; i < x->count(); i++) wanted += std::exp(static_cast<double>(data(x)[i]));
  CHECK(std::abs(data(sum)[0] - wanted) < 1e-5 * wanted);
  comm::set_devices(1);
}

TEST(stages_on_other_devices) {
  eager::initialize();
  comm::set_devices(3);
  auto logical = ir::parse_graph(R"ir(graph "stages" {
  input %0 "x" : float32[4, 6] @cpu[0, 1] S(0)
  %1 = exp(%0) : float32[4, 6]
  %2 = boxing(%1) : float32[4, 6] @cpu[2] B
  %3 = transpose(%2, dim0=0, dim1=1) : float32[6, 4]
  %4 = boxing(%3) : float32[6, 4] @cpu[1, 0] S(1)
  return %4
}
)ir");
  passes::ProcessGraph cut = lay_out(*logical);
  eager::Tensor x = values_for(logical->inputs[0]);
  std::vector<eager::Tensor> inputs;
  for (const passes::PartOf& one : cut.inputs)
    inputs.push_back(part_of(x, *logical->inputs[0].value, one.rank));
  Program program(std::move(cut.graph), {}, {});
  std::vector<eager::Tensor> got = program.run(inputs, {});
  for (size_t i = 0; i < got.size(); i++) {
    sbp::Box box = box_of(ir::graph_value(logical->outputs[0]), cut.outputs[i].rank);
    for_each_element(box, {6, 4}, [&](int64_t at, int64_t whole) {
      CHECK(std::abs(data(got[i])[at] - std::exp(data(x)[whole % 4 * 6 + whole / 4])) < 1e-5f);
    });
  }
  comm::set_devices(1);
}

TEST(programs_are_of_parts) {
  eager::initialize();
  CHECK_THROWS(Error, Program(graph_of("cpu[0] B", "cpu[0] B", "cpu[0] B"), {}, {}),
               "step: its tensors are global; a program is of the parts");
}

TEST(ranks_that_the_job_has_not) {
  eager::initialize();
  comm::set_devices(2);
  auto logical = graph_of("cpu[0, 2] B", "cpu[0, 2] B", "cpu[0, 2] B");
  CHECK_THROWS(Error, lay_out(*logical), "step: a placement has rank 2, but the job has 2");
  comm::set_devices(1);
}
