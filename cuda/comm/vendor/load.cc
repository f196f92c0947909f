// NCCL by name: the run-time path of this library leads to the wheel's folder, and the system's comes after
// it.
#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "base/error.h"
#include "cuda/comm/nccl.h"

namespace tw::cuda {

namespace {

struct Loaded {
  Nccl functions{};
  std::string problem;  // empty: none
};

Loaded load() {
  Loaded loaded;
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    loaded.problem = dlerror();
    return loaded;
  }
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) loaded.problem = std::string("it lacks ") + name;
  };
  Nccl& f = loaded.functions;
  find(f.get_unique_id, "ncclGetUniqueId");
  find(f.init_rank, "ncclCommInitRankConfig");
  find(f.destroy, "ncclCommDestroy");
  find(f.abort, "ncclCommAbort");
  find(f.async_error, "ncclCommGetAsyncError");
  find(f.error_string, "ncclGetErrorString");
  find(f.last_error, "ncclGetLastError");
  find(f.group_start, "ncclGroupStart");
  find(f.group_end, "ncclGroupEnd");
  find(f.all_reduce, "ncclAllReduce");
  find(f.reduce, "ncclReduce");
  find(f.broadcast, "ncclBroadcast");
  find(f.reduce_scatter, "ncclReduceScatter");
  find(f.all_gather, "ncclAllGather");
  find(f.send, "ncclSend");
  find(f.receive, "ncclRecv");
  return loaded;
}

}  // namespace

const Nccl& nccl(const char* op) {
  static const Loaded* loaded = new Loaded(load());
  TW_CHECK(loaded->problem.empty(), kDevice, op,
           ": NCCL 2 is needed (pip install nvidia-nccl-cu13) and cannot be loaded: ", loaded->problem);
  return loaded->functions;
}

}  // namespace tw::cuda
