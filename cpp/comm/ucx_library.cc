#include "comm/ucx_library.h"

#include <dlfcn.h>
#include <ucs/config/global_opts.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/error.h"

namespace tw::comm {

namespace {

constexpr uint32_t kMajor = 1, kMinor = 14;  // of the oldest version that has all that is used

struct Loaded {
  std::mutex mutex;
  std::string path;  // of the wheel
  bool tried = false;
  std::string problem;
  UcxLibrary calls;
  std::atomic<const UcxLibrary*> ready{nullptr};  // the calls, once there are any
};

Loaded& loaded() {
  static auto* state = new Loaded;
  return *state;
}

std::string load(const std::string& path, UcxLibrary* calls) {
  if (path.empty())
    return "UCX is not installed: pip install 'thalweg[cluster]', or name a library in THALWEG_UCX";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return cat("UCX cannot be loaded: ", dlerror());
  std::string missing;
  auto find = [&]<class Call>(Call& call, const char* name) {
    call = reinterpret_cast<Call>(dlsym(library, name));
    if (!call && missing.empty()) missing = cat(path, " is no UCX that can be used: it has no ", name);
  };
  find(calls->get_version, "ucp_get_version");
  find(calls->init_version, "ucp_init_version");
  find(calls->config_read, "ucp_config_read");
  find(calls->config_modify, "ucp_config_modify");
  find(calls->config_release, "ucp_config_release");
  find(calls->worker_create, "ucp_worker_create");
  find(calls->worker_destroy, "ucp_worker_destroy");
  find(calls->worker_get_address, "ucp_worker_get_address");
  find(calls->worker_release_address, "ucp_worker_release_address");
  find(calls->worker_get_efd, "ucp_worker_get_efd");
  find(calls->worker_arm, "ucp_worker_arm");
  find(calls->worker_progress, "ucp_worker_progress");
  find(calls->worker_set_am_recv_handler, "ucp_worker_set_am_recv_handler");
  find(calls->ep_create, "ucp_ep_create");
  find(calls->ep_close_nbx, "ucp_ep_close_nbx");
  find(calls->am_send_nbx, "ucp_am_send_nbx");
  find(calls->am_recv_data_nbx, "ucp_am_recv_data_nbx");
  find(calls->am_data_release, "ucp_am_data_release");
  find(calls->request_check_status, "ucp_request_check_status");
  find(calls->request_free, "ucp_request_free");
  find(calls->status_string, "ucs_status_string");
  // That another process has ended is no news for the terminal: errors say so.
  auto set =
      reinterpret_cast<decltype(&ucs_global_opts_set_value)>(dlsym(library, "ucs_global_opts_set_value"));
  if (set && !std::getenv("UCX_LOG_LEVEL")) set("LOG_LEVEL", "fatal");
  return missing;
}

// What the user has set in the environment stays.
void prefer(ucp_config_t* config, const char* name, const char* value) {
  if (std::getenv(cat("UCX_", name).c_str())) return;
  check_ucx(ucx().config_modify(config, name, value), name);
}

}  // namespace

void set_ucx_library(const std::string& path) {
  std::lock_guard lock(loaded().mutex);
  loaded().path = path;
}

std::string why_no_ucx() {
  Loaded& state = loaded();
  std::lock_guard lock(state.mutex);
  if (!state.tried) {
    const char* named = std::getenv("THALWEG_UCX");
    state.problem = load(named && *named ? named : state.path, &state.calls);
    state.tried = true;
    if (state.problem.empty()) state.ready.store(&state.calls, std::memory_order_release);
  }
  return state.problem;
}

uint32_t ucx_version() {
  if (!why_no_ucx().empty()) return 0;
  unsigned major, minor, patch;
  ucx().get_version(&major, &minor, &patch);
  return major << 20 | minor << 10 | patch;
}

const UcxLibrary& ucx() {
  if (const UcxLibrary* ready = loaded().ready.load(std::memory_order_acquire)) [[likely]]
    return *ready;
  std::string problem = why_no_ucx();
  TW_CHECK(problem.empty(), kComm, problem);
  return loaded().calls;
}

void check_ucx(ucs_status_t status, const char* what) {
  TW_CHECK(status == UCS_OK, kComm, "UCX: ", what, ": ", ucx().status_string(status));
}

ucp_context_h ucx_context() {
  static ucp_context_h context = [] {
    ucp_config_t* config;
    check_ucx(ucx().config_read(nullptr, nullptr, &config), "configuration");
    // Shared memory does not notice the end of the other side, and tensors lie in host memory.
    prefer(config, "TLS", "^sm,cuda,rocm,ze");
    // One send of a stream is one segment of TCP.
    prefer(config, "TCP_TX_SEG_SIZE", "64K");
    prefer(config, "TCP_RX_SEG_SIZE", "128K");
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    wanted.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    wanted.mt_workers_shared = 1;  // one thread at a time uses a worker, several use the context
    ucp_context_h made;
    ucs_status_t status = ucx().init_version(kMajor, kMinor, &wanted, config, &made);
    ucx().config_release(config);
    check_ucx(status, "context");
    return made;
  }();
  return context;
}

}  // namespace tw::comm
