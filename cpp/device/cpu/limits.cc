#include "device/cpu/limits.h"

#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

namespace tw::device {

namespace {

int affinity_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1u, std::thread::hardware_concurrency());
}

// The first number in a file; infinity where there is none ("max", or no such file).
double number_in(const std::string& path) {
  double value;
  return std::ifstream(path) >> value ? value : INFINITY;
}

// The limits of one cgroup folder; infinity where it has none.
double quota_cores(const std::string& folder) {
  std::string quota;
  double period = 0;
  if (std::ifstream v2(folder + "/cpu.max"); v2 >> quota >> period) {
    if (quota != "max" && period > 0) return std::strtod(quota.c_str(), nullptr) / period;
  }
  double quota_us = number_in(folder + "/cpu.cfs_quota_us"),
         period_us = number_in(folder + "/cpu.cfs_period_us");
  return quota_us > 0 && std::isfinite(period_us) && period_us > 0 ? quota_us / period_us : INFINITY;
}

double memory_bytes(const std::string& folder) {
  double main = std::min(number_in(folder + "/memory.max"), number_in(folder + "/memory.limit_in_bytes"));
  double swap = number_in(folder + "/memory.swap.max");
  return std::isfinite(main) && std::isfinite(swap) ? main + swap : main;
}

// The tightest limit from the group at `path` up to the root that is visible here.
template <class Limit>
double path_limit(const std::string& root, std::string path, Limit limit) {
  double tightest = limit(root);
  while (!path.empty() && path != "/") {
    tightest = std::min(tightest, limit(root + path));
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return tightest;
}

// `controller` is the one that sets the limit under cgroup v1; v2 has one tree for all.
template <class Limit>
double cgroup_limit(const std::string& controller, Limit limit) {
  double tightest = INFINITY;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // id:controllers:path
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) tightest = std::min(tightest, path_limit("/sys/fs/cgroup", path, limit));
    if (("," + controllers + ",").find("," + controller + ",") != std::string::npos)
      tightest = std::min(tightest, path_limit("/sys/fs/cgroup/" + controllers, path, limit));
  }
  return tightest;
}

}  // namespace

int usable_cores() {
  double cores = std::min<double>(affinity_cores(), std::ceil(cgroup_limit("cpu", quota_cores)));
  return std::max(1, static_cast<int>(cores));
}

int64_t usable_memory_bytes() {
  struct sysinfo info;
  double bytes = 1e15;
  if (sysinfo(&info) == 0)
    bytes = (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) * info.mem_unit;
  return static_cast<int64_t>(std::min(bytes, cgroup_limit("memory", memory_bytes)));
}

}  // namespace tw::device
