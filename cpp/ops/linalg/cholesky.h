#pragma once

namespace tw::ops {

struct CholeskyAttrs {
  bool upper;
  bool check_errors;  // raise for a matrix that is not positive definite; otherwise `info` says so
};

}  // namespace tw::ops
