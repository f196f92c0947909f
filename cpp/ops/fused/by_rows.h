#pragma once

#include <string>

#include "base/dims.h"

namespace tw::ops {

struct ByRowsAttrs {
  std::string body;  // the text of a graph; its inputs and outputs are the op's
  IntList over;      // for each output the input whose memory it may take over, -1 for none
};

}  // namespace tw::ops
