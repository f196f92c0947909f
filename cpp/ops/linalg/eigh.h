#pragma once

#include <string>

namespace tw::ops {

struct EighAttrs {
  std::string UPLO;  // the triangle that is read: "L" or "U"
};

}  // namespace tw::ops
