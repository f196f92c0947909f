// Where values lie that are made of global ones.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace tw::passes {

using PlaceId = const void*;  // a placement, or the process for what is made of parts
inline constexpr char kProcess = 0;
using Places = std::unordered_map<const ir::ValueImpl*, PlaceId>;

// Of the values of a graph and its regions: they lie where what they are made of does. Those that are made of
// nothing, or of local tensors, lie in no place yet. Gives all values numbers.
Places find_places(ir::Graph& graph);

}  // namespace tw::passes
