// Runs boxing plans on the memory of this process's ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "boxing/program.h"
#include "comm/request.h"
#include "sbp/boxing.h"

namespace tw::boxing {

struct Call {
  // The memory of each addressable rank of the plan's placements, in their order: contiguous, the sizes those
  // of box_of(). Null where a device holds nothing. Outputs overlap neither each other nor an input.
  std::span<const void* const> inputs = {};
  std::span<void* const> outputs = {};
  std::string_view origin = {};  // the user's line, for errors of other ranks
  // What owns the memory; kept until the request is complete or has failed.
  SmallVector<Ref<RefCounted>, 4> keep = {};
};

// Collective: every process that owns a rank of either placement posts the same boxings in the same order.
// The spans need not outlive the call. Where all ranks are addressable the request is complete on return, and
// nothing is staged. Sums are taken in the order of contributions, equal on all replicas bit for bit; half
// types are summed in float. Throws kValue on a wrong number of parts, kComm as comm::Group does.
Ref<comm::Request> post(const Program& program, const Call& call);
Ref<comm::Request> post(const sbp::BoxingPlanRef& plan, DType dtype, const Call& call);

// The positions of a placement whose ranks this process owns.
std::vector<int64_t> addressable_positions(const sbp::Placement& placement);

}  // namespace tw::boxing
