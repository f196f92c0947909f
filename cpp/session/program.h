// A traced program made ready to run: its graph, its plan, and the tensors behind its variables.
#pragma once

#include <memory>
#include <mutex>

#include "base/philox.h"
#include "eager/tracer.h"
#include "ir/graph.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "session/agreement.h"
#include "session/profile.h"
#include "session/work_queue.h"

namespace tw::session {

struct CompileOptions {
  int64_t memory_budget_bytes = -1;  // of the arena; values are computed twice to meet it. -1: any
  bool must_fit = true;              // false: as little as can be is good enough
  // Where results lie. None: on the CPU where modes() says, elsewhere where the graph runs.
  std::vector<device::Device> output_devices = {};
};

// The random numbers of a run: they count from `first` or, where they come from several generators, each has
// its key.
struct Draws {
  PhiloxKey first;
  std::vector<PhiloxKey> keys;
};

struct RunOptions {
  std::span<const eager::Tensor> arguments = {};  // where bound variables are found
  const Draws* draws = nullptr;                   // null: from the default generator
  // By number of the result, null where the program allocates: results are written there. See output_fits().
  std::span<const eager::Tensor> given = {};
};

class Program {
 public:
  // `variables` and `constants` stand behind those of the graph, in the same order. Plans and allocates.
  // Inputs lie in the given strides, without gaps, or in row-major order.
  // Variables that are bound to arguments have no tensor.
  Program(std::unique_ptr<ir::Graph> graph, std::vector<eager::Tensor> variables,
          std::vector<eager::Tensor> constants, std::vector<Dims> input_strides = {},
          std::vector<eager::Bound> bound = {}, const CompileOptions& options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Runs one step; on accelerators it is queued on the caller's current streams. Inputs, and variables that
  // are only read, may lie elsewhere, and are brought; results that are to lie on the CPU are waited for.
  // `inputs` and `numbers` in the order of the graph's. Throws kValue where an input does not have the traced
  // dtype, shape and strides, kRuntime where a variable's tensor has been given other memory of another size.
  // Threads that run one program wait for each other, without the interpreter lock.
  std::vector<eager::Tensor> run(std::span<const eager::Tensor> inputs, std::span<const Scalar> numbers,
                                 const RunOptions& options = {});
  // Whether a tensor has the dtype, shape and strides of a result, and memory that nobody else holds.
  bool output_fits(int output, const eager::TensorImpl& tensor) const;
  // Of the last run.
  const Draws& draws() const { return draws_; }
  // From now on run() returns while the step is still to run (see WorkQueue); what reads its results, and
  // what touches the variables, waits. At most so many steps are in flight; 0: it runs at once.
  void set_steps_in_flight(int count) { steps_in_flight_ = count; }

  // Whether the tensors behind the variables still have memory as when they were traced.
  bool variables_fit() const;

  ir::Graph& graph() { return *graph_; }
  const plan::Plan& plan() const { return executable_->plan(); }
  const Dims& output_strides(int output) const { return output_strides_[output]; }
  size_t recorded_launches() const { return executable_->recorded_launches(); }
  int64_t arena_bytes() const { return executable_->arena_bytes(); }
  // By how many draws the last run took more, in regions, than the graph says.
  int64_t extra_draws() const { return extra_draws_; }
  const std::vector<eager::Tensor>& variables() const { return variables_; }
  // Whether a run writes a variable.
  bool assigns(size_t variable) const { return assigned_[variable]; }
  bool assigns_any() const { return !graph_->assignments.empty(); }

 private:
  class OnDevice;
  // Which device of the plan each leaf, and each output as it is made, lies on.
  struct Devices {
    std::vector<device::Device> inputs, variables, constants, outputs;
  };
  bool elsewhere() const { return device_.type != device::DeviceType::kCpu; }
  void find_devices();
  void bring_constants();
  void check_written(size_t variable, const eager::Tensor& tensor) const;
  void fold_literals();
  plan::Plan make_plan(const CompileOptions& options);
  void find_output_strides();
  void check_input(size_t i, const eager::TensorImpl& input) const;
  const eager::Storage& variable(size_t i) const;
  void run_now(std::span<const eager::Tensor> inputs, std::span<const eager::Tensor> outputs,
               std::span<const Scalar> numbers, std::span<const eager::Tensor> arguments);
  void run_later(std::span<const eager::Tensor> inputs, std::span<const eager::Tensor> outputs,
                 std::span<const Scalar> numbers, std::span<const eager::Tensor> arguments);

  std::unique_ptr<ir::Graph> graph_;
  std::vector<eager::Tensor> variables_, constants_;
  std::vector<size_t> variable_bytes_;
  std::vector<Dims> input_strides_, output_strides_;
  std::vector<eager::Bound> bound_;
  std::vector<device::Device> output_devices_;
  device::Device device_;  // where it runs, or the first of several
  Devices devices_;
  std::vector<bool> assigned_;  // of the variables
  int steps_in_flight_ = 0;
  std::unique_ptr<PlanObserver> observer_;
  int64_t extra_draws_ = 0;
  std::shared_ptr<Agreement> agreement_;  // null where processes do not meet
  std::unique_ptr<runtime::Executable> executable_;
  Draws draws_;
  std::mutex mutex_;  // one run at a time
  // Addresses of a run; kept, so that a call does not allocate them.
  std::vector<void*> input_data_, variable_data_, constant_data_, output_data_;
};

}  // namespace tw::session
