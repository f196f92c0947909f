// Graphs whose boxings reach other processes: real ones, forked from the test.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>

#include "comm/fabric.h"
#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "session/global_graph.h"
#include "session/program.h"
#include "test.h"

using namespace tw;
using namespace tw::session;

namespace {

// Runs body(process) in processes of a job of their own, with so many devices each; all must return.
template <class Body>
void in_processes(int processes, int devices, Body body) {
  static int next_port = 21000 + static_cast<int>(now_ns() / 1000 % 20000);
  int port = next_port++;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; p++) {
    pid_t child = fork();
    if (child > 0) children.push_back(child);
    if (child != 0) continue;
    try {
      comm::init_job(
          {.process = p, .processes = processes, .port = port, .devices = devices, .timeout_ms = 20'000});
      body(p);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "process %d: %s\n", p, error.what());
      _exit(1);
    }
    _exit(0);
  }
  int failures = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  CHECK_EQ(failures, 0);
}

float* data(const eager::Tensor& tensor) { return static_cast<float*>(tensor->data()); }

eager::Tensor filled(const Dims& sizes, float value) {
  eager::Tensor tensor = eager::empty(sizes, DType::kFloat32);
  for (int64_t i = 0; i < tensor->count(); i++) data(tensor)[i] = value;
  return tensor;
}

// v becomes v - the sum over ranks of 2 x, and the result is the maximum over ranks of x, doubled.
constexpr const char* kStep = R"ir(graph "step" {
  input %0 "x" : float32[40] @PLACEMENT P(sum)
  input %1 "y" : float32[3] @PLACEMENT P(max)
  variable %2 "v" : float32[40] @PLACEMENT B
  %3 = add(%0, %0) : float32[40] @PLACEMENT P(sum)
  %4 = boxing(%3) : float32[40] @PLACEMENT B
  %5 = boxing(%1) : float32[3] @PLACEMENT B
  %6 = add(%5, %5) : float32[3] @PLACEMENT B
  %7 = sub(%2, %4) : float32[40] @PLACEMENT B
  assign %2 = %7
  return %6
}
)ir";

std::unique_ptr<ir::Graph> step_of(const std::string& placement) {
  std::string text = kStep;
  for (size_t at; (at = text.find("PLACEMENT")) != std::string::npos;) text.replace(at, 9, placement);
  return ir::parse_graph(text);
}

// Of the ranks of a process: the parts of one tensor after the other, as the process's graph has them.
struct Prepared {
  std::vector<eager::Tensor> inputs, variables;
  std::unique_ptr<Program> program;
};

Prepared prepare(std::unique_ptr<ir::Graph> graph) {
  passes::ProcessGraph cut = lay_out(*graph);
  Prepared made;
  for (const passes::PartOf& one : cut.inputs)
    made.inputs.push_back(
        filled(graph->inputs[one.index].value->sizes, static_cast<float>(one.rank + 1 + 10 * one.index)));
  for (const passes::PartOf& one : cut.variables)
    made.variables.push_back(filled(graph->variables[one.index].value->sizes, 100));
  made.program =
      std::make_unique<Program>(std::move(cut.graph), made.variables, std::vector<eager::Tensor>());
  return made;
}

void check_steps(int processes, int devices, const std::string& placement) {
  eager::initialize();
  in_processes(processes, devices, [&](int) {
    Prepared made = prepare(step_of(placement));
    int ranks = processes * devices;
    float sum = static_cast<float>(ranks * (ranks + 1)), wanted = 100;
    for (int step = 0; step < 20; step++) {
      wanted -= sum;
      for (const eager::Tensor& result : made.program->run(made.inputs, {}))
        CHECK_EQ(data(result)[2], static_cast<float>(2 * (ranks + 10)));
      for (const eager::Tensor& variable : made.variables) CHECK_EQ(data(variable)[39], wanted);
    }
  });
}

}  // namespace

TEST(steps_of_two_processes) { check_steps(2, 1, "cpu[0, 1]"); }
TEST(steps_of_processes_with_two_devices) { check_steps(2, 2, "cpu[3, 0, 1, 2]"); }

TEST(processes_that_run_other_graphs_say_where_they_differ) {
  eager::initialize();
  in_processes(2, 1, [&](int process) {
    auto graph = ir::parse_graph(cat(R"ir(graph "g" {
  input %0 "x" : float32[4] @cpu[0, 1] P(sum)
  input %1 "y" : float32[)ir",
                                     4 + process, R"ir(] @cpu[0, 1] P(max)
  %2 = boxing(%0) : float32[4] @cpu[0, 1] B
  %3 = boxing(%1) : float32[)ir",
                                     4 + process, R"ir(] @cpu[0, 1] B
  return %2, %3
}
)ir"));
    Prepared made = prepare(std::move(graph));
    auto wanted =
        "g: the processes do not make the same boxings; rank 0: boxing 1, cpu[0, 1] P(max) -> cpu[0, 1] B of "
        "float32[4]; rank 1: boxing 1, cpu[0, 1] P(max) -> cpu[0, 1] B of float32[5]";
    for (int call = 0; call < 2; call++) CHECK_THROWS(Error, made.program->run(made.inputs, {}), wanted);
  });
}

TEST(a_process_that_ends_is_an_error_in_the_others) {
  eager::initialize();
  in_processes(3, 1, [&](int process) {
    Prepared made = prepare(step_of("cpu[0, 1, 2]"));
    made.program->run(made.inputs, {});
    if (process == 1) return;
    int64_t begin = now_ns();
    CHECK_THROWS(Error, made.program->run(made.inputs, {}), "rank 1 of group [0, 1, 2] has ended");
    CHECK_LT(now_ns() - begin, 5'000'000'000);
  });
}

// Each rank reads a row of its own; one that is out of range fails its step.
constexpr const char* kLookup = R"ir(graph "lookup" {
  input %0 "table" : float32[4, 3] @cpu[0, 1, 2] B
  input %1 "ids" : int64[3] @cpu[0, 1, 2] S(0)
  %2 = embedding_lookup(%0, %1) : float32[3, 3] @cpu[0, 1, 2] S(0) at "model.py:7"
  %3 = sum(%2) : float32[] @cpu[0, 1, 2] P(sum)
  %4 = boxing(%3) : float32[] @cpu[0, 1, 2] B
  return %4
}
)ir";

struct Lookup {
  Lookup() {
    auto graph = ir::parse_graph(kLookup);
    program = std::make_unique<Program>(std::move(lay_out(*graph).graph), std::vector<eager::Tensor>(),
                                        std::vector<eager::Tensor>());
  }
  float run(int64_t id) {
    eager::Tensor ids = eager::empty({1}, DType::kInt64);
    *static_cast<int64_t*>(ids->data()) = id;
    return data(program->run(std::vector{filled({4, 3}, 2), ids}, {})[0])[0];
  }
  std::unique_ptr<Program> program;
};

TEST(after_a_step_that_failed_in_one_process_the_next_one_works) {
  eager::initialize();
  in_processes(3, 1, [&](int process) {
    Lookup lookup;
    for (int step = 0; step < 30; step++) {
      int failing = step % 2 ? step / 2 % 3 : -1;
      std::string who = process == failing ? "embedding" : cat("rank ", failing, ": embedding");
      if (failing < 0)
        CHECK_EQ(lookup.run(process), 18.f);
      else
        CHECK_THROWS(Error, lookup.run(process == failing ? 9 : 1), who);
    }
  });
}

TEST(after_the_end_of_processes_every_step_names_one_of_them) {
  eager::initialize();
  in_processes(3, 1, [&](int process) {
    Lookup lookup;
    CHECK_EQ(lookup.run(process), 18.f);
    CHECK_THROWS(Error, lookup.run(process == 0 ? 9 : 1), "embedding");
    CHECK_EQ(lookup.run(process), 18.f);
    if (process != 1) return;
    for (int step = 0; step < 3; step++) {
      int64_t begin = now_ns();
      CHECK_THROWS(Error, lookup.run(1), " of group [0, 1, 2] has ended");
      CHECK_LT(now_ns() - begin, 5'000'000'000);
    }
  });
}
