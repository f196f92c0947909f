// Per-thread switches of the eager front end.
#pragma once

#include "base/dtype.h"

namespace tw::eager {

class Tracer;

struct Modes {
  Tracer* tracer = nullptr;  // records ops instead of running them
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

// Runs ops for real while a program is traced.
class TracerPause {
 public:
  TracerPause() : before_(modes().tracer) { modes().tracer = nullptr; }
  ~TracerPause() { modes().tracer = before_; }
  TracerPause(const TracerPause&) = delete;
  TracerPause& operator=(const TracerPause&) = delete;

 private:
  Tracer* before_;
};

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
