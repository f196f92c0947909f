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

// Of this thread. Defined in modes.cc: an inline variable would be another one in every shared library that
// hides its symbols.
extern constinit thread_local Modes t_modes __attribute__((tls_model("initial-exec")));
inline Modes& modes() { return t_modes; }

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
