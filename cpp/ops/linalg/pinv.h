#pragma once

namespace tw::ops {

struct PinvAttrs {
  bool hermitian;  // the matrices are; of each its lower triangle is read
};

}  // namespace tw::ops
