#include "eager/dispatch.h"

#include <atomic>
#include <optional>

#include "base/clock.h"
#include "base/philox.h"
#include "device/backend.h"
#include "eager/batch_part.h"
#include "eager/evaluator.h"
#include "eager/generator.h"
#include "eager/global_dispatch.h"
#include "eager/global_trace.h"
#include "eager/modes.h"
#include "eager/op_node.h"
#include "eager/placing.h"
#include "eager/promotion.h"
#include "eager/result_order.h"
#include "eager/tracer.h"
#include "eager/view_history.h"
#include "ir/control.h"
#include "ir/emitter.h"
#include "ir/layouts.h"
#include "ops/manifest.h"

namespace tw::eager {

namespace {

std::vector<device::Kernel> g_kernels[2];  // by kind of device and op id
LockHooks g_lock_hooks;
constinit std::atomic<LaunchObserver*> g_observer = nullptr;
// Kernels that touch less than this keep the interpreter lock: letting go costs more than they take.
constexpr int64_t kUnlockBytes = 256 * 1024;

class EagerEmitter final : public ir::Emitter {
 public:
  void apply(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
             void* attrs, ir::Values* outputs) override {
    dispatch(def, inputs, starts, attrs, outputs);
  }
  ir::Value number(const Scalar& value) override { return number_operand(value); }
};

const std::vector<device::Kernel>& kernels_here() { return g_kernels[static_cast<int>(modes().device.type)]; }

device::Operand operand_of(const TensorImpl& tensor) {
  return {tensor.data(), &tensor.sizes, &tensor.strides, tensor.dtype};
}

// A view where the op has one here, else null.
Tensor make_view(const ir::OpDef& def, const Tensor& input, const void* attrs, const ir::Meta& meta) {
  ir::Geometry geometry;
  geometry.sizes = meta.sizes;
  if (!def.view(input->geometry(), attrs, &geometry)) return nullptr;
  // as_strided names places freely, all other views stay within what they look into.
  static const int as_strided = ir::registry().get("as_strided").id;
  if (def.id == as_strided) check_window(*input->storage, geometry, meta.dtype, def.name());
  Tensor result = alias(*input, geometry);
  if (result->dtype != meta.dtype) {  // view(dtype): the rule counts the offset in elements of the new dtype
    result->dtype = meta.dtype;
    result->contiguous = is_contiguous(result->sizes, result->strides);
  }
  set_view(*result, input);
  if (Tracer* tracer = modes().tracer) tracer->view(def, *input, attrs, *result);
  return result;
}

}  // namespace

void initialize() {
  static EagerEmitter emitter;
  static EagerEvaluator evaluator;
  static device::KernelTable table;
  static bool done = false;
  if (done) return;
  done = true;
  ops::define_all(ir::registry());
  ops::register_cpu_kernels(table);
  device::set_cpu_kernels(&table);
  ir::Emitter::set_default(&emitter);
  ir::Evaluator::set_current(&evaluator);
  for (const auto& def : ir::registry().all()) {
    device::Kernel kernel = table.find(def->name());
    g_kernels[0].push_back(kernel);
    g_kernels[1].push_back(nullptr);
    TW_CHECK(def->infer || def->expand, kInternal, def->name(), ": the op has no inference rule");
    bool elsewhere = ir::is_control(*def) || ir::is_boxing_part(*def) ||  // nothing that one kernel does
                     ir::is_take_part(*def) || ir::is_join_parts(*def);
    TW_CHECK(kernel || def->expand || def->view || elsewhere, kInternal, def->name(),
             ": the op has neither a kernel nor an expansion");
  }
}

void use_kernels(const device::KernelTable& table, device::DeviceType type) {
  for (const auto& def : ir::registry().all())
    g_kernels[static_cast<int>(type)][def->id] = table.find(def->name());
}

void infer(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
           const void* attrs, ir::InferContext& context) {
  static_assert(sizeof(ir::Value) == sizeof(const ir::ValueImpl*));
  context.op = def.name();
  context.inputs = {reinterpret_cast<const ir::ValueImpl* const*>(inputs.data()), inputs.size()};
  context.input_starts = starts;
  context.attributes = attrs;
  def.infer(context);
}

bool is_mutated(const ir::OpDef& def, int input, std::span<const int> starts) {
  int param = input;
  if (!starts.empty())
    for (param = 0; starts[param + 1] <= input;) param++;
  return def.mutated_params >> param & 1;
}

void check_mutated(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts) {
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!inputs[i] || !is_mutated(def, static_cast<int>(i), starts)) continue;
    TensorImpl& tensor = tensor_of(inputs[i]);
    check_writable(tensor, def.name());
    TW_CHECK(!modes().grad_enabled || !tensor.needs_grad(), kRuntime, def.name(),
             ": it writes tensors that require grad; call it under no_grad()");
  }
}

void advance_versions(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts) {
  for (size_t i = 0; i < inputs.size(); i++)
    if (inputs[i] && is_mutated(def, static_cast<int>(i), starts)) tensor_of(inputs[i]).storage->version++;
}

void fill_random_key(const ir::OpDef& def, void* attrs) {
  if (def.random_key_offset < 0) return;
  auto* key = reinterpret_cast<PhiloxKey*>(static_cast<char*>(attrs) + def.random_key_offset);
  if (key->draw != PhiloxKey::kUnset) return;
  *key = draw_key(default_generator());
}

void place_in_batch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
                    void* attrs) {
  BatchPart* batch = BatchPart::current();
  if (def.random_key_offset < 0 || !batch) return;
  ir::InferContext context;
  infer(def, inputs, starts, attrs, context);
  if (!context.outputs.empty()) batch->place(def, attrs, context.outputs[0].sizes);
}

ir::Value number_operand(const Scalar& value) {
  switch (value.kind()) {
    case DTypeKind::kBool:
      return wrapped_number(value, DType::kBool);
    case DTypeKind::kInt:
      return wrapped_number(value, DType::kInt64);
    case DTypeKind::kFloat:
      return wrapped_number(value, DType::kFloat64);
    default:
      return wrapped_number(value, DType::kComplex128);
  }
}

bool has_kernel(const ir::OpDef& def) { return kernels_here()[def.id] != nullptr; }
device::Kernel kernel_of(const ir::OpDef& def, device::DeviceType type) {
  return g_kernels[static_cast<int>(type)][def.id];
}
bool never_expands(const ir::OpDef& def) {
  const device::Accelerator* other = device::find_accelerator();
  return kernel_of(def) && (!def.expand || !other || kernel_of(def, other->type()));
}
void set_lock_hooks(LockHooks hooks) { g_lock_hooks = hooks; }
void observe_launches(LaunchObserver* observer) { g_observer.store(observer); }

Unlocked::Unlocked() {
  if (g_lock_hooks.release) token_ = g_lock_hooks.release();
}

Unlocked::~Unlocked() {
  if (token_) g_lock_hooks.acquire(token_);
}

namespace {

[[gnu::always_inline]] inline void run_kernel(const ir::OpDef& def, device::Kernel kernel,
                                              std::span<const ir::Value> inputs, std::span<const int> starts,
                                              const void* attrs, std::span<const ir::Meta> metas,
                                              std::span<Tensor> outputs) {
  SmallVector<device::Operand, 6> in;
  SmallVector<device::Operand, 2> out;
  int64_t bytes = 0;
  for (const ir::Value& input : inputs) {
    if (!input) {
      in.emplace_back();
      continue;
    }
    in.push_back(operand_of(tensor_of(input)));
    bytes += static_cast<int64_t>(tensor_of(input).storage->size_bytes());
  }
  for (size_t i = 0; i < outputs.size(); i++) {
    if (outputs[i]) bytes += static_cast<int64_t>(outputs[i]->storage->size_bytes());
    out.push_back(outputs[i] ? operand_of(*outputs[i])
                             : device::Operand{nullptr, nullptr, nullptr, metas[i].dtype});
  }
  auto allocate = [&](int i, const Dims& sizes) {
    outputs[i] = empty(sizes, out[i].dtype);
    out[i] = operand_of(*outputs[i]);
  };
  device::KernelContext context{std::span(in.data(), in.size()),
                                std::span(out.data(), out.size()),
                                attrs,
                                starts,
                                def.name(),
                                FunctionRef<void(int, const Dims&)>(allocate)};
  std::optional<Unlocked> unlocked;
  if (bytes >= kUnlockBytes) unlocked.emplace();
  LaunchObserver* observer = g_observer.load(std::memory_order_acquire);
  if (!observer) [[likely]]
    return kernel(context);
  int64_t begin_ns = now_ns();
  kernel(context);
  observer->launched(def, context, begin_ns, now_ns());
}

void run_elsewhere(const ir::OpDef& def, device::Kernel kernel, std::span<const ir::Value> inputs,
                   std::span<const int> starts, const void* attrs, std::span<const ir::Meta> metas,
                   std::span<Tensor> outputs) {
  TW_CHECK(kernel, kNotImplemented, def.name(), ": there is no kernel for device ", modes().device,
           "; move its operands to the CPU first");
  InputList copies;
  std::span<const ir::Value> there = brought(inputs, modes().device, &copies);
  CurrentDevice current;
  run_kernel(def, kernel, there, starts, attrs, metas, outputs);
}

}  // namespace

void launch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
            const void* attrs, std::span<const ir::Meta> metas, std::span<Tensor> outputs) {
  if (Tracer* tracer = modes().tracer) return tracer->launch(def, inputs, starts, attrs, outputs);
  device::Kernel kernel = kernels_here()[def.id];
  if (modes().device.type != device::DeviceType::kCpu) [[unlikely]]
    return run_elsewhere(def, kernel, inputs, starts, attrs, metas, outputs);
  run_kernel(def, kernel, inputs, starts, attrs, metas, outputs);
}

namespace {

void dispatch_here(const ir::OpDef& def, std::span<const ir::Value> given, std::span<const int> starts,
                   void* attrs, ir::Values* outputs) {
  std::span<const ir::Value> inputs = given;
  InputList cast, promoted, converted;
  if (modes().autocast && autocast_inputs(def, inputs, &cast)) inputs = {cast.data(), cast.size()};
  if (def.promotion != ir::Promotion::kNone && promote_inputs(def, inputs, starts, &promoted))
    inputs = {promoted.data(), promoted.size()};
  if (def.input_dtype_offset >= 0 && cast_to_attribute(def, inputs, attrs, &converted))
    inputs = {converted.data(), converted.size()};
  fill_random_key(def, attrs);
  place_in_batch(def, inputs, starts, attrs);
  sbp::LayoutRef traced;  // how the results of a recorded op on global tensors lie
  if (globals_exist()) [[unlikely]]
    if (is_global_call(inputs)) {
      if (!modes().tracer || expands(def, inputs, starts))
        return dispatch_global(def, inputs, starts, attrs, outputs);
      traced = layout_in_trace(def, inputs, starts);
      if (def.mutated_params) return trace_mutation(def, inputs, starts, attrs);
    }
  if (!kernels_here()[def.id] && def.expand) {
    *outputs = def.expand(ir::Values(inputs.begin(), inputs.end()), attrs);
    return;
  }
  if (def.mutated_params) check_mutated(def, inputs, starts);
  ir::InferContext context;
  infer(def, inputs, starts, attrs, context);

  if (def.mutated_params) {
    launch(def, inputs, starts, attrs, {}, {});
    advance_versions(def, inputs, starts);
    return;
  }
  Recorder recorder(def, inputs, starts);
  SmallVector<Tensor, 2> results;
  if (def.view) {
    Tensor input = as_tensor(inputs[0]);
    Tensor view = make_view(def, input, attrs, context.outputs[0]);
    // Only reshape-like ops may copy; the copy is a plain result, not a view.
    if (!view) {
      ir::Value copy = ir::op<"row_major">(inputs[0]);
      dispatch(def, std::span(&copy, 1), starts, attrs, outputs);
      tensor_of((*outputs)[0]).view = nullptr;
      return;
    }
    results.push_back(std::move(view));
  } else {
    for (const ir::Meta& meta : context.outputs)
      results.push_back(def.dynamic_sizes ? Tensor() : empty(meta.sizes, meta.dtype));
    if (!def.dynamic_sizes && !traced) order_results(def, inputs, {results.data(), results.size()});
    launch(def, inputs, starts, attrs, {context.outputs.data(), context.outputs.size()},
           {results.data(), results.size()});
  }
  if (traced) lay_out_in_trace(*modes().tracer, inputs, traced, {results.data(), results.size()});
  outputs->reserve(results.size());
  for (Tensor& result : results) outputs->push_back(std::move(result));
  if (!recorder.active()) return;
  recorder.before(attrs);
  recorder.after(*outputs);
}

}  // namespace

void dispatch(const ir::OpDef& def, std::span<const ir::Value> inputs, std::span<const int> starts,
              void* attrs, ir::Values* outputs) {
  if (!device::find_accelerator()) [[likely]]
    return dispatch_here(def, inputs, starts, attrs, outputs);
  DeviceGuard guard(device_of_call(def, inputs));
  dispatch_here(def, inputs, starts, attrs, outputs);
}

}  // namespace tw::eager
