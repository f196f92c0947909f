// A boxing plan as this process runs it: copies and folds between its parts, and what it posts to others.
//
// Phases alternate: local operations, then messages or collective calls, which the next phase waits for.
// Memory is named by slots: the inputs, the outputs, then scratch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "comm/group.h"
#include "device/backend.h"
#include "sbp/boxing.h"

namespace tw::boxing {

// Some elements of a slot.
struct View {
  int slot = 0;
  int64_t offset = 0;  // elements
  Dims strides;
  bool dense = false;  // the elements follow one another
};

// to = from[0], the fold of from[...], or, without sources, what is neutral in `neutral`.
struct LocalOp {
  Dims sizes;
  int64_t count = 0;
  View to;
  SmallVector<View, 4> from;
  SmallVector<sbp::Fold, 2> folds;
  sbp::ReduceOp neutral = sbp::ReduceOp::kSum;
};

struct PostedMessage {
  bool sends = false;  // else receives
  int from = 0, to = 0;
  int slot = 0;
  int64_t offset = 0, count = 0;  // elements
};

struct PostedCall {
  Ref<comm::Group> group;
  comm::CallKind kind = comm::CallKind::kAllReduce;
  comm::Reduction reduction = comm::Reduction::kSum;
  comm::Levels levels = comm::Levels::kAuto;
  int64_t count = 0;
  std::vector<int64_t> counts;
  std::vector<int> inputs, outputs;  // slots of the addressable members
};

struct ProgramPhase {
  std::vector<LocalOp> ops;
  std::vector<PostedMessage> messages;
  std::vector<PostedCall> calls;
  // Some process has messages in it. Accelerators exchange those of all in one call of the group, to which
  // every process comes.
  bool exchanges = false;
};

class Program final : public RefCounted {
 public:
  sbp::BoxingPlanRef plan;
  DType dtype = DType::kFloat32;
  int inputs = 0, outputs = 0;
  std::vector<int64_t> scratch;  // elements of each
  device::DeviceType type = device::DeviceType::kCpu;
  std::vector<int>
      devices;  // where each slot lies; the devices of one CPU see each other's memory, and need none
  std::vector<ProgramPhase> phases;
  Ref<comm::Group> group;  // of messages; null where no process sends any

  bool is_local() const { return !group && phases.size() == 1 && phases[0].calls.empty(); }
  // All in which it posts; one may come several times.
  SmallVector<Ref<comm::Group>, 4> groups() const;
};
using ProgramRef = Ref<const Program>;

// Programs are kept: asking again for one of the latest is a look-up. `caller`: whose groups it posts in.
// Throws kPlacement on ranks that the job does not have, kValue where the dtype has not the size that was
// planned for.
ProgramRef program_of(const sbp::BoxingPlanRef& plan, DType dtype,
                      comm::Caller caller = comm::Caller::kEager);
// Not kept. `apart`: as if each rank had a process of its own, so that everything goes by messages (for
// tests).
ProgramRef make_program(const sbp::BoxingPlanRef& plan, DType dtype, bool apart = false,
                        comm::Caller caller = comm::Caller::kEager);

comm::Reduction reduction_of(sbp::ReduceOp op);

}  // namespace tw::boxing
