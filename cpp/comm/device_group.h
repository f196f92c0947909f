// Groups of ranks whose memory lies on devices that have a library for collective calls of their own.
#pragma once

#include "comm/group.h"

namespace tw::comm {

struct DeviceGroupOptions {
  // The same ranks on the CPU: what tells members of calls and failures, and brings what a library needs to
  // begin. Used by nobody else.
  Ref<Group> control;
  int64_t timeout_ms;
  uint64_t instance;  // equal in all processes, another one for every group of these ranks
};

// Supplied by the backend's library when it is loaded.
using MakeDeviceGroup = Ref<Group> (*)(const DeviceGroupOptions& options);
void set_device_groups(MakeDeviceGroup make);
// A further group of some ranks on the CPU, for a device group; `instance` as there.
Ref<Group> make_control(std::vector<int> ranks, int64_t timeout_ms, uint64_t instance);

// What the interrupt check of request.h does, for waits of such groups.
void check_interrupt();

}  // namespace tw::comm
