#include "device/recording.h"

#include <atomic>

namespace tw::device {

namespace {

std::atomic<bool> g_allowed = true;

}  // namespace

Recorders* find_recorders(Device device) {
  return g_allowed ? dynamic_cast<Recorders*>(&backend_of(device)) : nullptr;
}

bool allow_recordings(bool on) { return g_allowed.exchange(on); }

}  // namespace tw::device
