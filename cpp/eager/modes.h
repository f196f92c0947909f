// Per-thread switches of the eager front end.
#pragma once

#include "base/dtype.h"
#include "device/backend.h"

namespace tw::sbp {
class Layout;
}

namespace tw::eager {

class Tracer;

struct Modes {
  Tracer* tracer = nullptr;  // records ops instead of running them
  bool grad_enabled = true;
  bool inference = false;
  bool autocast = false;
  DType autocast_dtype = DType::kBFloat16;
  bool anomaly = false;
  device::Device device;  // where ops allocate their results
  // How ops without tensor inputs lay out what they make; null: local tensors. Set where tensors are made for
  // a placement, and while gradients and composites of global tensors run. Layouts live as long as the
  // process.
  const sbp::Layout* creation = nullptr;
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

// Results are allocated on a device while it lives.
class DeviceGuard {
 public:
  explicit DeviceGuard(device::Device device) : before_(modes().device) { modes().device = device; }
  ~DeviceGuard() { modes().device = before_; }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  device::Device before_;
};

// Ops without inputs make global tensors of a layout while it lives; null: local ones.
class CreationGuard {
 public:
  explicit CreationGuard(const sbp::Layout* layout) : before_(modes().creation) { modes().creation = layout; }
  ~CreationGuard() { modes().creation = before_; }
  CreationGuard(const CreationGuard&) = delete;
  CreationGuard& operator=(const CreationGuard&) = delete;

 private:
  const sbp::Layout* before_;
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
