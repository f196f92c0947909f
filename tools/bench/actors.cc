// What the runtime costs: nodes of a chain, messages between actors, calls of run(), and how far two stages
// overlap. Exits 1 when a target is missed. Medians of several rounds; run it on a quiet machine.
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "device/backend.h"
#include "eager/dispatch.h"
#include "ops/pointwise/arithmetic.h"
#include "runtime/executable.h"
#include "runtime/mailbox.h"
#include "runtime/observer.h"

namespace {

using namespace tw;
using plan::SegmentKind;
using runtime::now_ns;

constexpr int kRounds = 15;
int missed = 0;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Nanoseconds a call of `body`, which does `count` things, spends on each.
double nanoseconds(int64_t count, const std::function<void()>& body) {
  body();
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; i++) {
    int64_t begin = now_ns();
    body();
    rounds.push_back(static_cast<double>(now_ns() - begin) / static_cast<double>(count));
  }
  return median(rounds);
}

void report(const char* what, double value, const char* unit, const char* target, bool reached) {
  std::printf("%-58s %9.2f %-5s %-10s %s\n", what, value, unit, target, reached ? "" : "MISSED");
  missed += !reached;
}
void at_most(const char* what, double value, const char* unit, double target) {
  report(what, value, unit, cat("<= ", target).c_str(), value <= target);
}

// --- plans ---

// A kernel as it is, with the attributes of `add`.
struct Bound final : runtime::LaunchKernel {
  explicit Bound(device::Kernel function) {
    kernel = function;
    attributes = &attrs;
  }
  void write_number(const plan::Lifted&, const Scalar&) override {}
  ops::AlphaAttrs attrs;
};

int64_t work_ns = 0;  // that the op "work" takes

void work(device::KernelContext&) {
  for (int64_t end = now_ns() + work_ns; now_ns() < end;) runtime::cpu_pause();
}

struct Source final : runtime::KernelSource {
  std::unique_ptr<runtime::LaunchKernel> bind(const plan::Launch& launch) override {
    if (launch.op == "nothing") return std::make_unique<Bound>([](device::KernelContext&) {});
    if (launch.op == "work") return std::make_unique<Bound>(&work);
    if (launch.op == "plain_add")
      return std::make_unique<Bound>([](device::KernelContext& c) {
        *c.out().as<float>() = *c.in(0).as<float>() + *c.in(1).as<float>();
      });
    device::Kernel kernel = device::cpu_backend().kernels().find(launch.op);
    TW_CHECK(kernel, kValue, "bench: there is no kernel ", launch.op);
    return std::make_unique<Bound>(kernel);
  }
};

plan::Plan empty_plan() {
  plan::Plan plan;
  plan.devices = {"cpu"};
  plan.strings = {""};
  plan.streams = {{}};
  return plan;
}

int scalar(plan::Plan& plan, int segment, int64_t offset_bytes) {
  plan::Value v;
  v.segment = segment;
  v.offset_bytes = offset_bytes;
  plan.values.push_back(v);
  return static_cast<int>(plan.values.size()) - 1;
}

// x + x + x..., each sum from the one before.
plan::Plan adds_plan(const char* op, int count) {
  plan::Plan plan = empty_plan();
  plan.segments = {
      {SegmentKind::kArena, 0, 128, 0}, {SegmentKind::kInput, 0, 4, 0}, {SegmentKind::kOutput, 0, 4, 0}};
  int x = scalar(plan, 1, 0), out = scalar(plan, 2, 0), last = x;
  plan::Actor chain;
  chain.name = "chain";
  for (int i = 0; i < count; i++) {
    int sum = i + 1 == count ? out : scalar(plan, 0, 64 * (i % 2));
    plan::Launch launch;
    launch.op = op;
    launch.inputs = {last, x};
    launch.outputs = {sum};
    chain.launches.push_back(launch);
    last = sum;
  }
  plan.actors.push_back(chain);
  return plan;
}

// Actors one after the other with registers of `credit` slots between them, on `streams` streams in turn.
plan::Plan line_plan(const char* op, int actors, int streams, int credit) {
  plan::Plan plan = empty_plan();
  plan.streams.assign(streams, {});
  for (int a = 0; a < actors; a++) {
    plan::Actor actor;
    actor.name = cat("stage ", a);
    actor.stream = a % streams;
    plan::Launch launch;
    launch.op = op;
    actor.launches = {launch};
    if (a > 0) actor.reads = {a - 1};
    if (a + 1 < actors) {
      actor.writes = {a};
      plan::Register reg;
      reg.name = cat("after ", a);
      reg.slots = credit;
      plan.registers.push_back(reg);
    }
    plan.actors.push_back(actor);
  }
  return plan;
}

// --- measurements ---

void measure_chain() {
  Source source;
  float x = 1, y = 0;
  void* inputs[] = {&x};
  void* outputs[] = {&y};
  runtime::Bindings bindings{inputs, {}, {}, outputs, {}};
  constexpr int kAdds = 128, kRuns = 2000;
  auto per_node = [&](const char* op) {
    runtime::Executable executable(adds_plan(op, kAdds), source);
    return nanoseconds(kAdds * kRuns, [&] {
      for (int i = 0; i < kRuns; i++) executable.run(bindings);
    });
  };
  at_most("a node of a chain, the loop alone", per_node("nothing"), "ns", 9);
  at_most("a node of a chain, a scalar add of its own", per_node("plain_add"), "ns", 15);
  double add = per_node("add");
  at_most("a node of a chain, the op add on scalars", add, "ns", 40);
  report("128 dependent scalar adds, the op add", 1e3 / add, "M/s", ">= 20", 1e3 / add >= 20);
  runtime::Executable one(adds_plan("nothing", 1), source);
  at_most("run() of a chain of one node",
          nanoseconds(kRuns,
                      [&] {
                        for (int i = 0; i < kRuns; i++) one.run(bindings);
                      }),
          "ns", 300);
}

void measure_actors_on_one_thread() {
  Source source;
  constexpr int kActors = 64, kRuns = 500;
  runtime::Executable executable(line_plan("nothing", kActors, 1, 1), source);
  double firing = nanoseconds(kActors * kRuns, [&] {
    for (int i = 0; i < kRuns; i++) executable.run({});
  });
  at_most("a firing and its messages, actors on one thread", firing, "ns", 100);
}

void measure_spinning_mailboxes() {
  constexpr int kTrips = 20000;
  runtime::Mailbox there(4), back(4);
  std::thread echo([&] {
    uint32_t message = 0;
    do {
      there.wait(1 << 30);
      there.pop(&message);
      back.push(message);
    } while (message != 1);
  });
  double round_trip = nanoseconds(kTrips, [&] {
    uint32_t message;
    for (int i = 0; i < kTrips; i++) {
      there.push(0);
      back.wait(1 << 30);
      back.pop(&message);
    }
  });
  there.push(1);
  echo.join();
  at_most("a message between spinning threads, one way", round_trip / 2, "ns", 400);
}

void measure_parked_mailbox() {
  runtime::Mailbox box(4);
  std::atomic<int64_t> arrived{0};
  std::thread sleeper([&] {
    uint32_t message = 0;
    while (message != 1) {
      box.wait(0);
      box.pop(&message);
      arrived = now_ns();
    }
  });
  std::vector<double> delays;
  for (int i = 0; i < 300; i++) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    arrived = 0;
    int64_t sent = now_ns();
    box.push(0);
    while (arrived == 0) runtime::cpu_pause();
    delays.push_back(static_cast<double>(arrived - sent) / 1e3);
  }
  box.push(1);
  sleeper.join();
  at_most("a message to a parked thread", median(delays), "us", 30);
}

// Milliseconds of 100 steps through two stages of 200 us.
double stages(int streams, int credit) {
  Source source;
  work_ns = 200000;
  runtime::Executable executable(line_plan("work", 2, streams, credit), source,
                                 {.steps_in_flight = 4, .workers = 2, .observer = nullptr});
  constexpr int kSteps = 100;
  std::vector<double> rounds;
  for (int round = 0; round < 5; round++) {
    int64_t begin = now_ns();
    std::vector<runtime::Run> runs;
    for (int i = 0; i < kSteps; i++) runs.push_back(executable.start({}));
    for (runtime::Run& run : runs) run.wait();
    rounds.push_back(static_cast<double>(now_ns() - begin) / 1e6);
  }
  return median(rounds);
}

void measure_overlap() {
  double serial = stages(1, 1), two = serial / stages(2, 2), one = serial / stages(2, 1);
  report("two equal stages on two cores, credit 2", two, "x", ">= 1.7", two >= 1.7);
  report("two equal stages on two cores, credit 1", one, "x", "< 1.1", one < 1.1);
}

}  // namespace

int main() {
  eager::initialize();
  measure_chain();
  measure_actors_on_one_thread();
  measure_spinning_mailboxes();
  measure_parked_mailbox();
  measure_overlap();
  return missed ? 1 : 0;
}
