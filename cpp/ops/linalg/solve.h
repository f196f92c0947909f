#pragma once

namespace tw::ops {

struct CheckErrorsAttrs {
  bool check_errors;  // raise where a factorisation fails; otherwise `info` says so
};

struct TriangularAttrs {
  bool upper;
  bool unitriangular;  // the diagonal counts as ones and is not read
};

struct UpperAttrs {
  bool upper;
};

}  // namespace tw::ops
