// In place of cuda/comm/*.cc where NCCL's headers were not there when the library was built.
#include "cuda/comm/groups.h"
#include "base/error.h"
#include "comm/device_group.h"

namespace tw::cuda {

namespace {

Ref<comm::Group> refuse(const comm::DeviceGroupOptions& options) {
  TW_FAIL(kDevice, options.control->name(),
          ": this library was built without NCCL; install nvidia-nccl-cu13 and build it again");
}

}  // namespace

void register_groups() { comm::set_device_groups(refuse); }

}  // namespace tw::cuda
