#include "session/reader.h"

#include "base/error.h"

namespace tw::session {

namespace {

plan::Plan reading_plan(int slots) {
  plan::Plan plan;
  plan.name = "reader";
  plan.devices = {"cpu"};
  plan.strings = {""};
  plan.streams = {{plan::StreamKind::kHostInput, 0}, {plan::StreamKind::kCompute, 0}};
  plan::Register batches;
  batches.name = "batches";
  batches.slots = slots;
  plan.registers.push_back(batches);
  for (const char* name : {"read", "hand_over"}) {
    plan::Actor actor;
    actor.name = name;
    actor.launches.emplace_back().op = name;
    plan.actors.push_back(std::move(actor));
  }
  plan.actors[0].kind = plan::ActorKind::kHostInput;
  plan.actors[0].writes = {0};
  plan.actors[1].stream = 1;
  plan.actors[1].reads = {0};
  return plan;
}

}  // namespace

class Reader::Source final : public runtime::KernelSource {
 public:
  explicit Source(Reader& reader) : reader_(reader) {}
  std::unique_ptr<runtime::LaunchKernel> bind(const plan::Launch& launch) override {
    return std::make_unique<Kernel>(reader_, launch.op == "read");
  }

 private:
  class Kernel final : public runtime::LaunchKernel {
   public:
    Kernel(Reader& reader, bool reads) : reader_(reader), reads_(reads) {
      attributes = this;
      kernel = [](device::KernelContext& context) {
        const auto& self = context.attrs<Kernel>();
        self.reads_ ? self.reader_.read() : self.reader_.hand_over();
      };
    }
    void write_number(const plan::Lifted&, const Scalar&) override {}
    void rewind(int64_t firings) override {
      if (reads_) reader_.forget(firings);
    }

   private:
    Reader& reader_;
    const bool reads_;
  };
  Reader& reader_;
};

Reader::Reader(std::function<Batch()> next, int ahead) : next_(std::move(next)) {
  TW_CHECK(ahead > 0, kValue, "prefetch: a positive number of batches to read ahead is wanted, got ", ahead);
  Source source(*this);
  executable_ = std::make_unique<runtime::Executable>(
      reading_plan(ahead), source, runtime::Options{.steps_in_flight = 1, .caller_works = true});
}

Reader::~Reader() { stop(); }

void Reader::stop() {
  std::lock_guard taking(taking_);
  executable_.reset();
  ready_.clear();
  taken_ = nullptr;
}

void Reader::read() {
  Batch batch = next_();
  std::lock_guard lock(mutex_);
  ready_.push_back(std::move(batch));
}

void Reader::hand_over() {
  std::lock_guard lock(mutex_);
  taken_ = std::move(ready_.front());
  ready_.pop_front();
}

void Reader::forget(int64_t count) {
  std::lock_guard lock(mutex_);
  for (; count > 0 && !ready_.empty(); count--) ready_.pop_back();
}

Reader::Batch Reader::take() {
  std::lock_guard taking(taking_);
  TW_CHECK(executable_, kRuntime, "prefetch: it has been closed");
  executable_->run({});
  return std::move(taken_);
}

}  // namespace tw::session
