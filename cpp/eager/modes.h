// Per-thread switches of the eager front end.
#pragma once

#include "base/dtype.h"

namespace tw::eager {

struct Modes {
  bool grad_enabled = true;
  bool inference = false;
  bool autocast = false;
  DType autocast_dtype = DType::kBFloat16;
  bool anomaly = false;
};

// Defined in modes.cc: inline, every shared library that hides its symbols would have switches of its own.
Modes& modes();

class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled) : before_(modes().grad_enabled) { modes().grad_enabled = enabled; }
  ~GradModeGuard() { modes().grad_enabled = before_; }
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool before_;
};

}  // namespace tw::eager
