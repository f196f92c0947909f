#pragma once

#include <cstdint>

namespace tw::ops {

struct LuAttrs {
  bool pivot;  // without exchanges of rows there is no kernel on the CPU
  bool check_errors;
};

struct PivotsAttrs {
  int64_t rows;
  bool inverse;
};

struct LuSolveAttrs {
  bool adjoint;  // A^H X = B
};

}  // namespace tw::ops
