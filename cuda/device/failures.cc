#include "cuda/device/failures.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "cuda/common/mistakes.h"

namespace tw::cuda {

namespace {

std::atomic<bool> g_any{false};
std::mutex g_mutex;
std::string& noted() {
  static auto* text = new std::string;
  return *text;
}

}  // namespace

void note_failure(const std::string& reason) {
  std::lock_guard lock(g_mutex);
  if (noted().empty()) noted() = reason;
  g_any.store(true, std::memory_order_release);
}

void check_failures() {
  check_mistakes();
  if (!g_any.load(std::memory_order_acquire)) [[likely]]
    return;
  std::string reason;
  {
    std::lock_guard lock(g_mutex);
    reason = std::exchange(noted(), {});
    g_any.store(false, std::memory_order_release);
  }
  TW_CHECK(reason.empty(), kComm, reason);
}

void forget_failure(const std::string& reason) {
  std::lock_guard lock(g_mutex);
  if (noted() != reason) return;
  noted().clear();
  g_any.store(false, std::memory_order_release);
}

}  // namespace tw::cuda
