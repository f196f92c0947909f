// The job's processes and ranks, and groups of them. python/thalweg/distributed gives these their public
// form.
#include <pybind11/stl.h>

#include "comm/fabric.h"
#include "comm/group.h"
#include "comm/transport.h"
#include "comm/ucx_path.h"
#include "comm/world.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Tensor;

namespace {

struct PyRequest {
  Ref<comm::Request> request;

  bool test() const {
    pb::gil_scoped_release unlocked;
    return request->test();
  }
  void wait(int64_t timeout_ms) const {
    pb::gil_scoped_release unlocked;
    request->wait(timeout_ms);
  }
};

struct PyGroup {
  Ref<comm::Group> group;
};

void check_interrupt() {
  pb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw pb::error_already_set();
}

// Where the tensors of a call lie: on the CPU, or on the GPU of this process's rank.
class CallPlace {
 public:
  void add(const Tensor& tensor, const char* op) {
    if (!tensor) return;
    TW_CHECK(!known_ || tensor->device().type == device_.type, kValue, op,
             ": tensors on one device are wanted, got ", device_, " and ", tensor->device());
    device_ = tensor->device();
    known_ = true;
  }
  Ref<comm::Group> choose(const PyGroup& group, const char* op) const {
    if (device_.type == device::DeviceType::kCpu) return group.group;
    int rank = comm::world().first_rank();
    device::Device mine = comm::world().device_of(rank, device_.type);
    TW_CHECK(device_ == mine, kValue, op, ": rank ", rank, " has ", mine, ", got a tensor on ", device_);
    return group.group->on(device_.type);
  }

 private:
  device::Device device_;
  bool known_ = false;
};

// The memory of a contiguous tensor, which `keep` holds from now on.
template <class Keep>
void* memory_of(const Tensor& tensor, const char* op, DType dtype, Keep& keep) {
  if (!tensor) return nullptr;
  TW_CHECK(tensor->contiguous, kValue, op, ": contiguous tensors are wanted");
  TW_CHECK(tensor->dtype == dtype, kType, op, ": tensors of one dtype are wanted, got ", dtype, " and ",
           tensor->dtype);
  keep.push_back(tensor->storage);
  return tensor->data();
}

// (input or None, output or None, counts to each member, counts from each member), of every addressable
// member.
using PyPart = std::tuple<Tensor, Tensor, std::vector<int64_t>, std::vector<int64_t>>;

PyRequest post(const PyGroup& self, int kind, const std::vector<PyPart>& parts, DType dtype, int64_t count,
               const std::vector<int64_t>& counts, int reduction, int root, const std::vector<int64_t>& shape,
               const std::string& origin) {
  comm::Call call;
  call.kind = static_cast<comm::CallKind>(kind);
  call.dtype = dtype;
  call.count = count;
  call.counts = counts;
  call.reduction = static_cast<comm::Reduction>(reduction);
  call.root = root;
  call.shape = Dims(shape.begin(), shape.end());
  call.origin = origin;
  const char* op = comm::name_of(call.kind);
  std::vector<comm::Part> memory;
  CallPlace place;
  for (const auto& [input, output, sends, receives] : parts) {
    place.add(input, op);
    place.add(output, op);
    comm::Part part;
    part.input = memory_of(input, op, dtype, call.keep);
    part.output = memory_of(output, op, dtype, call.keep);
    part.send_counts = sends;
    part.receive_counts = receives;
    memory.push_back(part);
    if (output) output->storage->version++;
  }
  call.parts = memory;
  Ref<comm::Group> group = place.choose(self, op);
  pb::gil_scoped_release unlocked;
  return {group->post(call)};
}

PyRequest post_message(const PyGroup& self, bool sends, const Tensor& tensor, int from, int to, int64_t tag,
                       const std::string& origin) {
  comm::Message message;
  message.from = from;
  message.to = to;
  message.tag = tag;
  message.origin = origin;
  message.dtype = tensor->dtype;
  message.count = numel(tensor->sizes);
  const char* op = sends ? "send" : "recv";
  message.data = memory_of(tensor, op, tensor->dtype, message.keep);
  CallPlace place;
  place.add(tensor, op);
  Ref<comm::Group> group = place.choose(self, op);
  if (!sends) tensor->storage->version++;
  pb::gil_scoped_release unlocked;
  return {sends ? group->send(message) : group->receive(message)};
}

// (first rank, number of ranks, host) of every process, and the number of this one.
pb::tuple describe_world() {
  const comm::World* world;
  {
    pb::gil_scoped_release unlocked;
    world = &comm::world();
  }
  pb::list processes;
  for (const comm::Process& process : world->processes())
    processes.append(pb::make_tuple(process.first_rank, process.rank_count, process.host));
  return pb::make_tuple(processes, world->self());
}

std::string transport_to(int process) {
  if (process == comm::world().self()) return "self";
  return comm::name_of(comm::fabric()->peer(process).transport());
}

void init_job(int process, int processes, const std::string& address, int port, int64_t timeout_ms) {
  comm::JobOptions options;
  options.process = process;
  options.processes = processes;
  options.address = address;
  options.port = port;
  options.timeout_ms = timeout_ms;
  pb::gil_scoped_release unlocked;
  comm::init_job(options);
}

void begin_job(int64_t timeout_ms) {
  pb::gil_scoped_release unlocked;
  comm::begin_job(timeout_ms);
}

}  // namespace

void bind_comm(pb::module_& m) {
  comm::set_interrupt_check(check_interrupt);
  m.def("set_devices", comm::set_devices, pb::call_guard<pb::gil_scoped_release>());
  m.def("world_version", comm::world_version);
  m.def("world", describe_world);
  m.def("set_ucx_library", comm::set_ucx_library);
  m.def("transport_to", transport_to, pb::call_guard<pb::gil_scoped_release>());
  m.def("init_job", init_job);
  m.def("begin_job", begin_job);
  m.def("set_shared_timeout", comm::Group::set_shared_timeout);
  pb::class_<PyRequest>(m, "CommRequest").def("test", &PyRequest::test).def("wait", &PyRequest::wait);
  pb::class_<PyGroup>(m, "CommGroup")
      .def(pb::init([](std::vector<int> ranks, int64_t timeout_ms) {
        return PyGroup{comm::Group::make(std::move(ranks), timeout_ms)};
      }))
      .def_property_readonly("name", [](const PyGroup& self) { return self.group->name(); })
      .def_property_readonly("moved_bytes", [](const PyGroup& self) { return self.group->moved_bytes(); })
      .def_property_readonly("far_bytes", [](const PyGroup& self) { return self.group->far_bytes(); })
      .def("post", post)
      .def("post_message", post_message);
}

}  // namespace tw::py
