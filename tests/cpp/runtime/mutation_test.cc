// Whatever field of a plan is changed, it is refused, or it runs and gives the same results: the verifier
// misses nothing that matters.
#include "plan/check.h"
#include "plan/mutator.h"
#include "plan/samples.h"
#include "plan/text.h"
#include "runtime/executable.h"
#include "runtime/kernels.h"
#include "runtime/memory.h"
#include "test.h"

namespace tw::test {
namespace {

struct Source final : runtime::KernelSource {
  std::unique_ptr<runtime::LaunchKernel> bind(const plan::Launch& launch) override {
    if (launch.op != "load" && launch.op != "show") return plain.bind(launch);
    plan::Launch changed = launch;
    changed.op = launch.op == "load" ? "fill" : "hook";
    changed.attrs = "3";
    return plain.bind(changed);
  }
  std::unique_ptr<runtime::KernelSource> body(const plan::Launch&, int) override {
    return std::make_unique<Source>();
  }
  TestSource plain;
};

// Three steps, two of them in flight, with the memory that `original` wants; all that they leave outside.
std::vector<float> results(const Plan& plan, const Plan& original) {
  Source source;
  runtime::Executable executable(plan, source, {.steps_in_flight = 2, .workers = 2});
  std::vector<RunMemory> memory(3, RunMemory(original));
  std::vector<runtime::Run> runs;
  std::vector<float> all;
  for (auto& m : memory) {
    for (SegmentKind kind : {SegmentKind::kInput, SegmentKind::kVariable, SegmentKind::kConstant})
      for (size_t i = 0; i < m.count(kind); i++)
        for (size_t at = 0; at < m.array(kind, static_cast<int>(i)).size(); at++)
          m.array(kind, static_cast<int>(i))[at] = static_cast<float>(at + 1);
    // Variables are the same in all runs.
    auto bindings = m.bindings();
    auto variables = memory[0].bindings().variables;
    bindings.variables = variables;
    runs.push_back(executable.start(bindings));
  }
  for (auto& run : runs) run.wait();
  for (auto& m : memory)
    for (SegmentKind kind : {SegmentKind::kOutput, SegmentKind::kVariable})
      for (size_t i = 0; i < m.count(kind); i++) {
        auto& array = m.array(kind, static_cast<int>(i));
        all.insert(all.end(), array.begin(), array.end());
      }
  return all;
}

void mutate(Plan plan, int least_accepted) {
  const Plan original = plan;
  const std::vector<float> wanted = results(plan, original);
  int refused = 0, accepted = 0;
  auto attempt = [&] {
    try {
      check_plan(plan);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kValue) fail(__FILE__, __LINE__, error.what());
      refused++;
      return;
    }
    accepted++;
    std::vector<float> got;
    try {
      got = results(plan, original);
    } catch (const Error& error) {
      // A device that is not there is found when the arena is allocated, another interface when the run
      // begins.
      std::string_view reason = error.what();
      for (const char* known : {"device", "run: the plan has"})
        if (reason.find(known) != std::string_view::npos) return;
      fail(__FILE__, __LINE__, std::string(error.what()) + "\n" + print_plan(plan));
    }
    if (got != wanted) fail(__FILE__, __LINE__, "other results from:\n" + print_plan(plan));
  };
  Mutator<decltype(attempt)>{plan, attempt}.all();
  CHECK_GT(refused, 100);
  CHECK_GE(accepted, least_accepted);

  plan::seal(&plan);
  auto is_refused = [&] { CHECK_THROWS(Error, check_plan(plan), ""); };
  Mutator<decltype(is_refused)>{plan, is_refused}.all();
}

TEST(any_change_of_the_chain) { mutate(chain_plan(), 10); }
TEST(any_change_of_the_pipeline) { mutate(pipeline_plan(), 10); }
TEST(any_change_of_micro_batches) { mutate(micro_plan(), 10); }
TEST(any_change_of_host_streams) { mutate(host_plan(), 10); }
TEST(any_change_of_communications) { mutate(comm_plan(), 10); }
TEST(any_change_of_control_flow) { mutate(control_plan(), 10); }

}  // namespace
}  // namespace tw::test
