// Random plans: what the verifier accepts runs to its end under random delays, on any number of workers, with
// the same results; what it refuses stalls in the simulator. THALWEG_RANDOM_PLANS says how many plans
// (1,000).
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>

#include "plan/builder.h"
#include "plan/check.h"
#include "plan/simulate.h"
#include "plan/text.h"
#include "runtime/executable.h"
#include "runtime/kernels.h"
#include "runtime/memory.h"
#include "test.h"

namespace tw::test {
namespace {

using plan::Plan;
using plan::SegmentKind;
using Random = std::mt19937;

int pick(Random& random, int from, int to) { return from + static_cast<int>(random() % (to - from + 1)); }

// A random graph of actors: registers that carry data go from earlier to later ones, those that only order go
// anywhere. Every launch adds up what its actor reads.
class Generator {
 public:
  explicit Generator(Random& random) : random_(random) {}

  Plan make() {
    int actors = pick(random_, 2, 7), streams = pick(random_, 1, 3);
    for (int i = 0; i < streams; i++) b_.stream();
    arena_ = b_.segment(SegmentKind::kArena, 1 << 14);
    b_.plan.name = "random";
    for (int a = 0; a < actors; a++)
      b_.actor("a" + std::to_string(a), pick(random_, 0, streams - 1), 1 << pick(random_, 0, 2));
    inputs_.resize(actors);
    outputs_.resize(actors);
    for (int to = 1; to < actors; to++)
      for (int n = pick(random_, 1, 2); n > 0; n--) connect(pick(random_, 0, to - 1), to);
    for (int n = pick(random_, 0, 3); n > 0; n--)
      order(pick(random_, 0, actors - 1), pick(random_, 0, actors - 1));
    for (int a = 0; a < actors; a++) add_launch(a);
    return std::move(b_.plan);
  }

 private:
  int rate(int from, int to) {
    int common = std::gcd(b_.plan.actors[from].rate, b_.plan.actors[to].rate);
    return common >> pick(random_, 0, std::countr_zero(static_cast<unsigned>(common)));
  }
  void join(int reg, int from, int to) {
    b_.plan.actors[from].writes.push_back(reg);
    b_.plan.actors[to].reads.push_back(reg);
  }
  void connect(int from, int to) {
    int slots = pick(random_, 1, 3);
    int reg =
        b_.reg("r" + std::to_string(b_.plan.registers.size()), arena_, offset_, 16, slots, rate(from, to));
    offset_ += 16 * slots;
    int value = b_.in_register(reg, {4});
    join(reg, from, to);
    outputs_[from].push_back(value);
    inputs_[to].push_back(value);
  }
  void order(int from, int to) {
    int slots = pick(random_, 1, 3);
    int reg = b_.reg("o" + std::to_string(b_.plan.registers.size()), -1, 0, 0, slots, rate(from, to));
    b_.plan.registers[reg].initial = from < to ? 0 : std::min(slots, pick(random_, 0, 2));
    join(reg, from, to);
  }
  void add_launch(int a) {
    if (inputs_[a].empty()) inputs_[a].push_back(b_.bound(SegmentKind::kInput, {4}));
    if (outputs_[a].empty()) outputs_[a].push_back(b_.bound(SegmentKind::kOutput, {4}));
    launch(b_.plan.actors[a], "hook", inputs_[a], outputs_[a], std::to_string(a));
  }

  Random& random_;
  PlanBuilder b_;
  int arena_ = 0;
  int64_t offset_ = 0;
  std::vector<std::vector<int>> inputs_, outputs_;
};

// Holds up a launch now and then, for as long as the seed says.
struct Delays {
  uint32_t seed;
  std::atomic<uint32_t> calls{0};
  static void hook(void* self) {
    auto& delays = *static_cast<Delays*>(self);
    Random random(delays.seed + delays.calls.fetch_add(1) * 7919);
    uint32_t kind = random() % 16;
    if (kind < 3) std::this_thread::yield();
    if (kind == 3) std::this_thread::sleep_for(std::chrono::microseconds(random() % 60));
  }
};

std::vector<std::vector<float>> results(const Plan& plan, int workers, int in_flight, Delays* delays) {
  TestSource source;
  if (delays) {
    source.hook = Delays::hook;
    source.hook_argument = delays;
  }
  runtime::Executable executable(plan, source, {.steps_in_flight = in_flight, .workers = workers});
  std::vector<RunMemory> memory(5, RunMemory(plan));
  std::vector<runtime::Run> runs;
  for (size_t i = 0; i < memory.size(); i++) {
    for (size_t in = 0; in < memory[i].count(SegmentKind::kInput); in++)
      memory[i].input(static_cast<int>(in)) = {1, 2, 3, static_cast<float>(i)};
    runs.push_back(executable.start(memory[i].bindings()));
  }
  std::vector<std::vector<float>> all;
  for (auto& run : runs) run.wait();
  for (auto& m : memory)
    for (size_t out = 0; out < m.count(SegmentKind::kOutput); out++)
      all.push_back(m.output(static_cast<int>(out)));
  return all;
}

bool accepted(const Plan& plan) {
  try {
    plan::check_plan(plan);
    return true;
  } catch (const Error& error) {
    std::string_view reason = error.what();
    if (reason.find("the step never ends") == std::string_view::npos)
      fail(__FILE__, __LINE__, std::string(reason) + "\n" + print_plan(plan));
    return false;
  }
}

TEST(accepted_plans_finish_and_refused_ones_stall) {
  const char* wanted = std::getenv("THALWEG_RANDOM_PLANS");
  int count = wanted ? std::atoi(wanted) : 1000, good = 0;
  for (int i = 0; i < count; i++) {
    Random random(i);
    Plan plan = Generator(random).make();
    auto seconds = [&](int, int, int64_t) { return 0.001 * pick(random, 0, 1000); };
    plan::SimulateOptions options{.steps = 5, .steps_in_flight = pick(random, 1, 3), .seconds = seconds};
    bool is_good = accepted(plan);
    plan::Timeline line = simulate(plan, options);
    if ((line.steps_done == 5) != is_good || line.stall.empty() != is_good)
      fail(__FILE__, __LINE__, "the simulator sees it differently: " + line.stall + "\n" + print_plan(plan));
    if (!is_good) continue;
    good++;
    auto reference = results(plan, 1, 1, nullptr);
    Delays delays{static_cast<uint32_t>(i)};
    if (results(plan, pick(random, 1, 3), options.steps_in_flight, &delays) != reference)
      fail(__FILE__, __LINE__, "other results under delays from:\n" + print_plan(plan));
  }
  CHECK_GT(good, count / 5);
  CHECK_LT(good, count * 4 / 5);
}

}  // namespace
}  // namespace tw::test
