// What decides in control flow on global tensors, where it is made of parts of them: a local value, which
// each process has its own of.
#pragma once

#include "eager/control.h"

namespace tw::eager {

// Where the global tensors lie that regions work on, as far as that is known while they are recorded; null
// where there are none.
sbp::PlacementRef placement_of_regions(const Tracer& tracer,
                                       std::initializer_list<const RegionRecorder*> regions);

// A decision that is appended to `graph`, in which `pred` is read, and which all devices of `placement` know.
// The values of other processes may be others: they tell each other, and a run raises where these differ.
// Returns `pred` where there is no placement, or no part has to do with it.
ir::Value decided(Tracer& tracer, const char* op, ir::Graph& graph, const ir::Value& pred,
                  const sbp::PlacementRef& placement);

}  // namespace tw::eager
