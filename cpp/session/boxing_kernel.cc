#include "session/boxing_kernel.h"

#include "boxing/executor.h"
#include "eager/dispatch.h"
#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"

namespace tw::session {

namespace {

sbp::LayoutRef layout_of(const std::string& text) {
  ir::TextLexer lexer(text);
  return ir::parse_layout(lexer);
}

// Memory for a part that does not lie in row-major order, allocated once.
struct Dense {
  explicit Dense(const ir::ValueImpl& part) : sizes(part.sizes), strides(contiguous_strides(sizes)) {
    bytes.resize(static_cast<size_t>(part.count() * size_of(part.dtype)));
  }
  device::Operand operand(DType dtype) { return {bytes.data(), &sizes, &strides, dtype}; }
  Dims sizes, strides;
  std::vector<char> bytes;
};

class BoxingKernel final : public runtime::LaunchKernel {
 public:
  explicit BoxingKernel(const ir::Node& node) {
    const auto& a = *static_cast<const ops::BoxingPartAttrs*>(node.attrs.get());
    auto plan = sbp::plan_boxing(layout_of(a.source), layout_of(a.target), a.size, size_of(a.dtype));
    program_ = boxing::program_of(plan, a.dtype);
    TW_CHECK(program_->is_local(), kNotImplemented, "boxing: from ", a.source, " to ", a.target,
             " reaches ranks of other processes, which graphs do not yet");
    TW_CHECK(static_cast<size_t>(program_->inputs) == node.inputs.size() &&
                 static_cast<size_t>(program_->outputs) == node.outputs.size(),
             kInternal, "boxing_part: ranks ", a.ranks, " are not those of this process");
    parts_.resize(node.inputs.size());
    for (const ir::Value& input : node.inputs) inputs_.push_back(input.get());
    copy_ = eager::kernel_of(ir::registry().get("clone"));
    kernel = [](device::KernelContext& c) { static_cast<const BoxingKernel*>(c.attributes)->run(c); };
    attributes = this;
  }
  // Only the program's own numbers are lifted, and boxings have none.
  void write_number(const plan::Lifted&, const Scalar&) override {}

 private:
  void run(const device::KernelContext& c) const {
    SmallVector<const void*, 8> inputs;
    SmallVector<void*, 8> outputs;
    for (size_t i = 0; i < c.inputs.size(); i++) inputs.push_back(dense(c.inputs[i], i));
    for (const device::Operand& output : c.outputs) outputs.push_back(output.data);
    boxing::Call call;
    call.inputs = {inputs.data(), inputs.size()};
    call.outputs = {outputs.data(), outputs.size()};
    boxing::post(*program_, call);  // complete on return
  }

  const void* dense(const device::Operand& input, size_t i) const {
    if (input.contiguous() || input.count() == 0) return input.data;
    if (!parts_[i]) parts_[i] = std::make_unique<Dense>(*inputs_[i]);
    device::Operand copied = parts_[i]->operand(input.dtype);
    device::KernelContext context{{&input, 1}, {&copied, 1}, nullptr, {}, "clone", [](int, const Dims&) {}};
    copy_(context);
    return copied.data;
  }

  boxing::ProgramRef program_;
  device::Kernel copy_;
  std::vector<const ir::ValueImpl*> inputs_;           // of the node, which outlives the kernel
  mutable std::vector<std::unique_ptr<Dense>> parts_;  // of inputs that were not dense; null: not yet
};

}  // namespace

std::unique_ptr<runtime::LaunchKernel> make_boxing_kernel(const ir::Node& node) {
  return std::make_unique<BoxingKernel>(node);
}

}  // namespace tw::session
