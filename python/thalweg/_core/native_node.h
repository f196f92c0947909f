#pragma once

#include "eager/node.h"

namespace tw::py {

// A node as Python sees it; equal handles compare equal.
struct NodeHandle {
  Ref<eager::Node> node;
};

}  // namespace tw::py
