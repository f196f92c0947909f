#include "session/boxing_kernel.h"

#include <algorithm>

#include "boxing/executor.h"
#include "boxing/links.h"
#include "comm/progress.h"
#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"

namespace tw::session {

namespace {

constexpr int64_t kNapMs = 100;  // of a wait that nobody else ends

sbp::LayoutRef layout_of(const std::string& text) {
  ir::TextLexer lexer(text);
  return ir::parse_layout(lexer);
}

// The memory of a call, which outlives the kernel's context.
struct Memory {
  explicit Memory(const device::KernelContext& c) {
    for (const device::Operand& input : c.inputs) inputs.push_back(input.data);
    for (const device::Operand& output : c.outputs) outputs.push_back(output.data);
  }
  boxing::Call call(std::string_view origin) const {
    boxing::Call call;
    call.inputs = {inputs.data(), inputs.size()};
    call.outputs = {outputs.data(), outputs.size()};
    call.origin = origin;
    return call;
  }
  SmallVector<const void*, 8> inputs;
  SmallVector<void*, 8> outputs;
};

// The first communication of a program: once all agree that it is the first.
class FirstBoxing final : public comm::Request {
 public:
  FirstBoxing(std::shared_ptr<Agreement> agreement, const boxing::Program& program,
              const device::KernelContext& context, std::string origin)
      : agreement_(std::move(agreement)), program_(&program), memory_(context), origin_(std::move(origin)) {}
  bool test() override {
    if (!posted_) {
      if (!agreement_->advance()) return false;
      posted_ = boxing::post(*program_, memory_.call(origin_));
    }
    return posted_->test();
  }
  void wait(int64_t timeout_ms) override {
    static_cast<void>(timeout_ms);  // the groups have their own
    while (!comm::progress_until([&] { return test(); }, kNapMs)) continue;
  }

 private:
  std::shared_ptr<Agreement> agreement_;
  boxing::ProgramRef program_;
  Memory memory_;
  std::string origin_;
  Ref<comm::Request> posted_;
};

class BoxingKernel final : public runtime::LaunchKernel {
 public:
  BoxingKernel(const ir::Node& node, std::string origin, std::shared_ptr<Agreement> agreement)
      : origin_(std::move(origin)), agreement_(std::move(agreement)) {
    const auto& a = *static_cast<const ops::BoxingPartAttrs*>(node.attrs.get());
    auto plan = sbp::plan_boxing(layout_of(a.source), layout_of(a.target), a.size, size_of(a.dtype),
                                 boxing::link_model());
    program_ = boxing::program_of(plan, a.dtype, comm::Caller::kProgram);
    TW_CHECK(static_cast<size_t>(program_->inputs) == node.inputs.size() &&
                 static_cast<size_t>(program_->outputs) == node.outputs.size(),
             kInternal, "boxing_part: ranks ", a.ranks, " are not those of this process");
    auto on_first = [this](int device) { return device == program_->devices[0]; };
    recordable = program_->is_local() && std::ranges::all_of(program_->devices, on_first);
    const auto groups = program_->groups();
    agreement_->add_groups({groups.data(), groups.size()});
    kernel = [](device::KernelContext& c) {
      static_cast<BoxingKernel*>(const_cast<void*>(c.attributes))->run(c);
    };
    attributes = this;
  }
  // Only the program's own numbers are lifted, and boxings have none.
  void write_number(const plan::Lifted&, const Scalar&) override {}

  Ref<comm::Request> post(const device::KernelContext& c) override {
    check(c);
    const bool on_cpu = program_->type == device::DeviceType::kCpu;
    if (!program_->is_local() && !agreement_->reached()) {
      if (on_cpu) return make_ref<FirstBoxing>(agreement_, *program_, c, origin_);
      agree();
    }
    Ref<comm::Request> request = boxing::post(*program_, Memory(c).call(origin_));
    return on_cpu && request->test() ? nullptr : request;
  }

  void give_up(const std::string& reason) override { agreement_->give_up(reason); }

 private:
  // In a chain: what is local is complete at once. In a region, where others take part, it waits for them.
  void run(const device::KernelContext& c) {
    Ref<comm::Request> request = post(c);
    if (request) request->wait();
  }
  // Who queues work of accelerators has nothing to do meanwhile.
  void agree() {
    while (!comm::progress_until([&] { return agreement_->advance(); }, kNapMs)) continue;
  }
  static void check(const device::KernelContext& c) {
    for (const device::Operand& input : c.inputs)
      TW_CHECK(input.contiguous() || input.count() == 0, kInternal, "boxing_part: an input has gaps");
  }

  boxing::ProgramRef program_;
  std::string origin_;
  std::shared_ptr<Agreement> agreement_;
};

}  // namespace

std::unique_ptr<runtime::LaunchKernel> make_boxing_kernel(const ir::Node& node, std::string origin,
                                                          std::shared_ptr<Agreement> agreement) {
  return std::make_unique<BoxingKernel>(node, std::move(origin), std::move(agreement));
}

}  // namespace tw::session
