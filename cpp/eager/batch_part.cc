#include "eager/batch_part.h"

#include <algorithm>

#include "eager/modes.h"
#include "eager/tracer.h"
#include "ops/random_part.h"

namespace tw::eager {

namespace {

thread_local BatchPart* t_current __attribute__((tls_model("initial-exec"))) = nullptr;

// Draws of programs in part i begin i times so many higher.
constexpr int kBlockBits = 40;

}  // namespace

BatchPart::BatchPart(int64_t size, int64_t parts)
    : size_(size), parts_(parts), tracer_(modes().tracer), before_(t_current), outer_(current()) {
  if (outer_) {
    first_ = outer_->part() * parts;
    parts_ *= outer_->parts_;
  }
  if (tracer_) first_draw_ = last_draw_ = tracer_->draws();
  t_current = this;
}

// A trace knows nothing of parts around it: its program runs in any of them.
BatchPart* BatchPart::current() {
  return t_current && t_current->tracer_ == modes().tracer ? t_current : nullptr;
}

void BatchPart::look(Known& known) const {
  if (known.generator->seed() == known.seed) known.last = std::max(known.last, known.generator->draws());
}

void BatchPart::begin(int64_t part) {
  for (Known& known : generators_) {
    look(known);
    known.generator->set_state(known.seed, known.first);
  }
  if (tracer_) {
    last_draw_ = std::max(last_draw_, tracer_->draws());
    tracer_->set_draws(first_draw_);
  }
  part_ = part;
}

void BatchPart::end() {
  if (!std::exchange(open_, false)) return;
  t_current = before_;
  if (tracer_) tracer_->set_draws(std::max(last_draw_, tracer_->draws()));
  for (Known& known : generators_) {
    look(known);
    if (known.generator->seed() == known.seed) known.generator->set_state(known.seed, known.last);
  }
}

void BatchPart::note(Generator& generator) {
  if (outer_) outer_->note(generator);
  for (const Known& known : generators_)
    if (known.generator.get() == &generator) return;
  generators_.push_back({Ref<Generator>(&generator), generator.seed(), generator.draws(), generator.draws()});
}

void BatchPart::place(const ir::OpDef& def, void* attrs, const Dims& sizes) const {
  if (sizes.empty() || size_ == 0) return;
  size_t dim = 0;
  if (sizes[0] == 0 || sizes[0] % size_ != 0)
    dim = static_cast<size_t>(std::find(sizes.begin(), sizes.end(), size_) - sizes.begin());
  if (dim == sizes.size()) return;
  for (const ir::Param& param : def.schema.params) {
    if (param.name != "_part") continue;
    Dims first(sizes.size(), 0), whole = sizes;
    first[dim] = part() * sizes[dim];
    whole[dim] *= parts_;
    ir::write_attr(param.field, attrs, ops::random_part(first, whole), def.name(), "_part");
  }
}

PhiloxKey draw_key(Generator& generator) {
  if (Tracer* tracer = modes().tracer) return tracer->next_draw(generator);
  if (BatchPart* batch = BatchPart::current()) batch->note(generator);
  return generator.next_draw();
}

PhiloxKey draw_block(Generator& generator, uint64_t count) {
  BatchPart* batch = BatchPart::current();
  if (batch) batch->note(generator);
  PhiloxKey first = generator.next_draws(count);
  if (batch) first.draw += static_cast<uint64_t>(batch->part()) << kBlockBits;
  return first;
}

}  // namespace tw::eager
