// The job's processes and ranks, and groups of them.
#include "comm/world.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;

void bind_comm(pb::module_& m) {
  m.def("set_devices", comm::set_devices);
  m.def("world_version", comm::world_version);
  // (first rank, number of ranks, host) of every process, and the number of this one.
  m.def("world", [] {
    const comm::World& world = comm::world();
    pb::list processes;
    for (const comm::Process& process : world.processes())
      processes.append(pb::make_tuple(process.first_rank, process.rank_count, process.host));
    return pb::make_tuple(processes, world.self());
  });
}

}  // namespace tw::py
