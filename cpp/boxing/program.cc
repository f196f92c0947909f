#include "boxing/program.h"

#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "boxing/program_builder.h"
#include "comm/world.h"

namespace tw::boxing {

namespace {

struct Key {
  const sbp::BoxingPlan* plan;  // which the program keeps
  DType dtype;
  comm::Caller caller;
  int world;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    return (reinterpret_cast<size_t>(key.plan) >> 4) * 31 + static_cast<size_t>(key.dtype) * 2 +
           static_cast<size_t>(key.caller);
  }
};

}  // namespace

comm::Reduction reduction_of(sbp::ReduceOp op) {
  return op == sbp::ReduceOp::kSum   ? comm::Reduction::kSum
         : op == sbp::ReduceOp::kMax ? comm::Reduction::kMax
                                     : comm::Reduction::kMin;
}

SmallVector<Ref<comm::Group>, 4> Program::groups() const {
  SmallVector<Ref<comm::Group>, 4> groups;
  if (group) groups.push_back(group);
  for (const ProgramPhase& phase : phases)
    for (const PostedCall& call : phase.calls) groups.push_back(call.group);
  return groups;
}

ProgramRef make_program(const sbp::BoxingPlanRef& plan, DType dtype, bool apart, comm::Caller caller) {
  TW_CHECK(size_of(dtype) == plan->element_bytes, kValue, "boxing: elements of ", plan->element_bytes,
           " bytes were planned for, got ", dtype);
  for (int64_t rank : plan->ranks)
    TW_CHECK(rank <= INT32_MAX && comm::world().is_valid(static_cast<int>(rank)), kPlacement,
             "boxing: there is no rank ", rank, ": the job has ", comm::world().size());
  return ProgramBuilder(plan, dtype, apart, caller).build();
}

ProgramRef program_of(const sbp::BoxingPlanRef& plan, DType dtype, comm::Caller caller) {
  static constexpr size_t kGeneration = 2048;
  static std::mutex mutex;
  using Programs = std::unordered_map<Key, ProgramRef, KeyHash>;
  static auto *young = new Programs, *old = new Programs;  // never destroyed, as plans are not
  Key key{plan.get(), dtype, caller, comm::world_version()};
  std::lock_guard lock(mutex);
  if (auto known = young->find(key); known != young->end()) return known->second;
  auto known = old->find(key);
  ProgramRef program = known != old->end() ? known->second : make_program(plan, dtype, false, caller);
  if (young->size() == kGeneration) *old = std::exchange(*young, {});
  return (*young)[key] = program;
}

}  // namespace tw::boxing
