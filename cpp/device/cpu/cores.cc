#include "device/cpu/cores.h"

#include <sched.h>

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

// The quota of one cgroup folder in cores; infinity when it has none.
double folder_quota(const std::string& folder) {
  std::string quota;
  double period = 0;
  if (std::ifstream v2(folder + "/cpu.max"); v2 >> quota >> period) {
    if (quota != "max" && period > 0) return std::strtod(quota.c_str(), nullptr) / period;
  }
  double quota_us = -1;
  std::ifstream v1_quota(folder + "/cpu.cfs_quota_us"), v1_period(folder + "/cpu.cfs_period_us");
  if (v1_quota >> quota_us && v1_period >> period && quota_us > 0 && period > 0) return quota_us / period;
  return INFINITY;
}

// The tightest quota from the group at `path` up to the root that is visible here.
double path_quota(const std::string& root, std::string path) {
  double quota = folder_quota(root);
  while (!path.empty() && path != "/") {
    quota = std::min(quota, folder_quota(root + path));
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return quota;
}

double cgroup_quota() {
  double quota = INFINITY;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // id:controllers:path
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) quota = std::min(quota, path_quota("/sys/fs/cgroup", path));
    if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      quota = std::min(quota, path_quota("/sys/fs/cgroup/" + controllers, path));
  }
  return quota;
}

}  // namespace

int usable_cores() {
  double cores = std::min<double>(affinity_cores(), std::ceil(cgroup_quota()));
  return std::max(1, static_cast<int>(cores));
}

}  // namespace tw::device
