// Which job this process belongs to: one of its own, or that of the environment.
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/error.h"
#include "comm/fabric.h"
#include "device/cpu/device_count.h"

namespace tw::comm {

namespace {

// Worlds stay for ever: readers hold plain references.
std::atomic<const World*> g_world{nullptr};
std::atomic<int> g_version{0};
std::atomic<Fabric*> g_fabric{nullptr};
std::mutex g_mutex;  // guards changes

// The functions below want the lock held.

void publish(const World* world) {
  device::set_cpu_device_count(world->rank_count());
  g_world.store(world, std::memory_order_release);
  g_version.fetch_add(1, std::memory_order_acq_rel);
}

void begin_alone(int devices) {
  static auto* kept = new std::vector<std::unique_ptr<World>>;
  kept->push_back(std::make_unique<World>(std::vector{Process{0, devices, 0}}, 0));
  publish(kept->back().get());
}

void begin(const JobOptions& options) {
  TW_CHECK(options.devices >= 1, kValue, "env.init: at least one device a process is wanted, got ",
           options.devices);
  if (options.processes == 1) return begin_alone(options.devices);
  Fabric* fabric = Fabric::make(options).release();  // never destroyed: groups use it to the end
  g_fabric.store(fabric, std::memory_order_release);
  std::atexit([] { g_fabric.load(std::memory_order_acquire)->leave(); });
  publish(&fabric->world());
}

const World& begin_by_environment(bool implicit, int devices, int64_t timeout_ms = JobOptions().timeout_ms) {
  JobOptions options;
  options.timeout_ms = timeout_ms;
  options.devices = devices;
  read_environment(&options, implicit);
  begin(options);
  return *g_world.load(std::memory_order_acquire);
}

}  // namespace

const World& world() {
  const World* now = g_world.load(std::memory_order_acquire);
  if (now) [[likely]]
    return *now;
  std::lock_guard lock(g_mutex);
  now = g_world.load(std::memory_order_acquire);
  return now ? *now : begin_by_environment(true, 1);
}

int world_version() { return g_version.load(std::memory_order_acquire); }

Fabric* fabric() { return g_fabric.load(std::memory_order_acquire); }

void set_devices(int devices) {
  TW_CHECK(devices >= 1, kValue, "env.init: at least one device a process is wanted, got ", devices);
  std::lock_guard lock(g_mutex);
  const World* now = g_world.load(std::memory_order_acquire);
  if (!now) now = &begin_by_environment(false, devices);
  if (now->rank_count() == devices) return;
  TW_CHECK(now->processes().size() == 1, kRuntime, "env.init: this process owns ", now->rank_count(),
           " devices in a job of ", now->processes().size(), " processes, which cannot change any more; got ",
           devices);
  begin_alone(devices);
}

void begin_job(int64_t timeout_ms) {
  std::lock_guard lock(g_mutex);
  const World* now = g_world.load(std::memory_order_acquire);
  if (!now) begin_by_environment(false, 1, timeout_ms);
  JobOptions options;
  options.timeout_ms = timeout_ms;
  // Variables of mpirun and Slurm did not count for whoever asked first.
  bool several =
      now && now->processes().size() == 1 && read_environment(&options, false) && options.processes > 1;
  if (several) begin(options);
}

void init_job(const JobOptions& options) {
  std::lock_guard lock(g_mutex);
  const World* now = g_world.load(std::memory_order_acquire);
  bool alone = now && now->processes().size() == 1 && options.processes > 1;
  TW_CHECK(!now || alone, kRuntime, "the job has begun: this is process ", now ? now->self() : 0, " of ",
           now ? now->processes().size() : 0);
  begin(options);
}

}  // namespace tw::comm
