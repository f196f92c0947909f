// The way of every eager op: autocast → promotion → inference → allocation → kernel → tape.
#pragma once

#include <span>

#include "eager/tensor.h"
#include "ir/op_def.h"

namespace tw::eager {

// Sets up registry, kernels and the default emitter. Called once while the library is loaded.
void initialize();

// `inputs` in schema order, lists flattened (null for absent ones); `starts` only for ops with lists. `attrs`
// may be changed: random ops get their key.
void dispatch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
              void* attrs, ir::Values* outputs);
// The same, writing the result into inputs[0] (name_ of Python). Throws where that is not allowed.
void dispatch_inplace(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                      void* attrs);

// sum += other, with whatever tape the current modes ask for.
void add_inplace(TensorImpl& sum, const Tensor& other);
// A Python number as an operand.
ir::Value number_operand(const Scalar& value);

// The steps of dispatch, for the in-place way and for tests.
void infer(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
           const void* attrs, ir::InferContext& context);
void fill_random_key(const ir::OpDef& def, void* attrs);
// While parts of a batch are run: says in a random op's attributes which part it draws.
void place_in_batch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                    void* attrs);
// Of ops that write inputs: which ones, whether they may be written, and what follows once they are.
bool is_mutated(const ir::OpDef& def, int input, std::span<const int> starts);
void check_mutated(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts);
void advance_versions(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts);
// Runs the kernel alone: inputs are ready, outputs allocated, save those of ops with data-dependent sizes,
// which are null and made by the kernel.
void launch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
            const void* attrs, std::span<const ir::Meta> metas, std::span<Tensor> outputs);
bool has_kernel(const ir::OpDef& def);  // for the device of modes()
// Null where there is none.
device::Kernel kernel_of(const ir::OpDef& def, device::DeviceType type = device::DeviceType::kCpu);
// No kind of device that is there expands the op.
bool never_expands(const ir::OpDef& def);
// Gives a kind of device its kernels, before the first op runs there.
void use_kernels(const device::KernelTable& table, device::DeviceType type);

// Sees every kernel that is launched, after it ended; several threads call at a time. Times are now_ns().
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  virtual void launched(const ir::OpDef& def, const device::KernelContext& context, int64_t begin_ns,
                        int64_t end_ns) = 0;
};
// Null: nobody watches, and a launch costs a branch. A launch that has begun may still call the one before.
void observe_launches(LaunchObserver* observer);

// Let the interpreter lock go around kernels that take long. The binding supplies both.
struct LockHooks {
  void* (*release)() = nullptr;  // null result: this thread does not hold the lock
  void (*acquire)(void*) = nullptr;
};
void set_lock_hooks(LockHooks hooks);
// Lets the interpreter lock go while it lives, if this thread holds it.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  void* token_ = nullptr;
};

}  // namespace tw::eager
