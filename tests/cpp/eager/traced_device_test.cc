#include "eager/traced_device.h"

#include "eager/dispatch.h"
#include "eager/global.h"
#include "ir/emitter.h"
#include "sbp/placement.h"
#include "test.h"

using namespace tw;
using namespace tw::eager;
using device::Device;
using device::DeviceType;
using ir::op;
using ir::Value;

namespace {

constexpr Device kCpu{}, kOtherCpu{DeviceType::kCpu, 1};
constexpr Device kGpu{DeviceType::kCuda, 0}, kOtherGpu{DeviceType::kCuda, 1};

struct Trace {
  ir::Graph graph;
  int asked = 0;  // for the user's line
  TracedDevice device{graph, [this] { return cat(" (at train.py:", ++asked, ")"); }};
};

const ir::OpDef& op_named(const char* name) {
  initialize();
  return ir::registry().get(name);
}

Value ones(const Dims& sizes) {
  initialize();
  return op<"full">(sizes, 1.0, DType::kFloat32);
}

}  // namespace

TEST(the_first_decides_and_who_disagrees_is_named_with_it) {
  Trace trace;
  CHECK_EQ(trace.graph.device, "cpu");
  trace.device.settle(kOtherGpu, "argument 0");
  trace.device.settle(kOtherGpu, "add");
  CHECK_EQ(trace.graph.device, "cuda:1");
  CHECK_EQ(trace.asked, 1);  // finding the line takes time: nobody asks for it where all agree
  CHECK_THROWS(Error, trace.device.settle(kGpu, "mul"),
               "mul (at train.py:2): it is on cuda:0, and argument 0 (at train.py:1) on cuda:1; a traced "
               "function computes on one device");
  CHECK_THROWS(Error, trace.device.settle(kCpu, "mul"), "it is on cpu, and argument 0");
}

TEST(all_devices_of_the_cpu_are_one) {
  Trace trace;
  trace.device.settle(kOtherCpu, "add");
  trace.device.settle(kCpu, "mul");
  CHECK_EQ(trace.graph.device, "cpu");
  CHECK_THROWS(Error, trace.device.settle(kGpu, "to"), "to (at train.py:2): it is on cuda:0, and add");
}

TEST(what_a_run_brings_decides_nothing_on_the_cpu) {
  Trace trace;
  trace.device.settle_unless_cpu(kCpu, "argument 0");
  trace.device.settle_unless_cpu(kGpu, "argument 1");
  CHECK_EQ(trace.graph.device, "cuda:0");
}

TEST(global_tensors_of_the_cpu_compute_there) {
  Trace trace;
  trace.device.settle(*sbp::placement("cpu", {1}, {0}));
  trace.device.settle(kCpu, "add");
  CHECK_THROWS(Error, trace.device.settle(kGpu, "to"),
               "to (at train.py:2): it is on cuda:0, and a global tensor");
}

TEST(ops_on_numbers_and_on_what_the_host_fills_decide_nothing) {
  Trace trace;
  const Value number = ones({}), data = ones({2, 2});
  const ir::OpDef& add = op_named("add");
  const Value of_numbers[] = {number, number};
  trace.device.settle_op(add, of_numbers, {}, kCpu);
  const Ref<Storage>& storage = tensor_of(data).storage;
  CHECK(!trace.device.is_filled_by_host(*storage));
  trace.device.filled_by_host(storage);
  CHECK(trace.device.is_filled_by_host(*storage));
  const Value of_data[] = {data, number};
  trace.device.settle_op(add, of_data, {}, kCpu);
  trace.device.settle(kGpu, "argument 0");  // nothing has decided otherwise
}

TEST(an_op_on_a_tensor_of_the_cpu_decides) {
  Trace trace;
  const Value inputs[] = {ones({2, 2}), ones({2, 2})};
  trace.device.settle_op(op_named("add"), inputs, {}, kCpu);
  CHECK_THROWS(Error, trace.device.settle(kGpu, "argument 0"), "and add (at train.py:1) on cpu");
}

TEST(regions_are_given_what_they_read_where_the_program_computes) {
  Trace trace;
  CHECK(trace.device.accelerator_or(kOtherCpu) == kOtherCpu);
  trace.device.settle(kCpu, "add");
  CHECK(trace.device.accelerator_or(kOtherCpu) == kOtherCpu);
  Trace other;
  other.device.settle(kGpu, "add");
  CHECK(other.device.accelerator_or(kCpu) == kGpu);
}
