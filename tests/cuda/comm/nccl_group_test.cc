// Every call over two and three devices of one process, against what the group on the CPU gives.
#include <cstring>
#include <numeric>

#include "comm/group.h"
#include "comm/world.h"
#include "cuda/device/cuda_backend.h"
#include "test.h"

namespace tw::comm {

namespace {

constexpr device::DeviceType kCuda = device::DeviceType::kCuda;

using Bytes = std::vector<char>;

// This process is linked with the backend and need not load it.
void begin(int devices) {
  device::g_accelerator.store(&cuda::backend());
  set_devices(devices);
}

// Memory of a device, with a copy of some bytes.
class OnDevice {
 public:
  OnDevice(const Bytes& bytes, int device) : device_(device), size_(bytes.size()) {
    if (size_ == 0) return;
    data_ = cuda::backend().allocate(size_, device_);
    cuda::backend().copy(data_, bytes.data(), size_, cuda::backend().current_stream(device_));
  }
  OnDevice(OnDevice&& other) noexcept
      : device_(other.device_), size_(other.size_), data_(std::exchange(other.data_, nullptr)) {}
  ~OnDevice() {
    if (data_) cuda::backend().free(data_, size_, device_);
  }
  char* data() const { return static_cast<char*>(data_); }
  Bytes read() const {
    Bytes bytes(size_);
    if (size_ > 0) {
      cuda::backend().copy(bytes.data(), data_, size_, cuda::backend().current_stream(device_));
      cuda::backend().current_stream(device_).synchronize();
    }
    return bytes;
  }

 private:
  int device_;
  size_t size_;
  void* data_ = nullptr;
};

// What each member gives and wants, in elements.
struct Case {
  Call call;
  std::vector<int64_t> counts;
  std::vector<int64_t> inputs, outputs;
  std::vector<std::vector<int64_t>> sends, receives;
};

Bytes numbered(DType dtype, int64_t count, int seed) {
  Bytes bytes(static_cast<size_t>(count * size_of(dtype)));
  dispatch_all(dtype, "test", [&]<class T>() {
    for (int64_t i = 0; i < count; i++) {
      T value(static_cast<float>((seed * 7 + i * 3) % 5 - (std::is_same_v<T, uint8_t> ? 0 : 2)));
      if constexpr (std::is_same_v<T, bool>) value = (seed + i) % 3 == 0;
      std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
    }
  });
  return bytes;
}

// The results of all members.
template <class Memory, class Make>
std::vector<Bytes> run(Case& c, const Ref<Group>& group, const Make& make) {
  std::vector<Memory> inputs, outputs;
  std::vector<Part> parts;
  for (int m = 0; m < group->size(); m++) {
    inputs.push_back(make(numbered(c.call.dtype, c.inputs[m], m), m));
    outputs.push_back(make(numbered(c.call.dtype, c.outputs[m], 50 + m), m));
  }
  for (int m = 0; m < group->size(); m++) {
    parts.push_back({inputs[m].data(), outputs[m].data(), {}, {}});
    if (!c.sends.empty()) parts.back().send_counts = c.sends[m];
    if (!c.receives.empty()) parts.back().receive_counts = c.receives[m];
  }
  Call call = c.call;
  call.parts = parts;
  call.counts = c.counts;
  Ref<Request> request = group->post(call);
  request->wait();
  CHECK(request->test());
  std::vector<Bytes> results;
  for (const Memory& output : outputs) {
    if constexpr (std::is_same_v<Memory, Bytes>)
      results.push_back(output);
    else
      results.push_back(output.read());
  }
  return results;
}

void compare(Case c, const std::vector<int>& ranks) {
  Ref<Group> on_cpu = Group::make(ranks), on_cuda = Group::make(ranks, kDefaultTimeoutMs, kCuda);
  auto expected = run<Bytes>(c, on_cpu, [](const Bytes& bytes, int) { return bytes; });
  auto found =
      run<OnDevice>(c, on_cuda, [&](const Bytes& bytes, int m) { return OnDevice(bytes, ranks[m]); });
  CHECK(found == expected);
  CHECK_EQ(on_cuda->moved_bytes(), on_cpu->moved_bytes());
}

void compare(Case c) {
  begin(3);
  size_t members = c.inputs.size();
  compare(std::move(c), members == 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 0, 1});
}

std::vector<int64_t> all(int members, int64_t count) { return std::vector<int64_t>(members, count); }

constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kProd, Reduction::kMin, Reduction::kMax};

}  // namespace

TEST(reductions_of_every_dtype_are_those_of_the_cpu) {
  for (int members : {2, 3})
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt8,
                        DType::kUInt8, DType::kInt32, DType::kInt64, DType::kBool})
      for (Reduction reduction : kReductions)
        for (CallKind kind : {CallKind::kAllReduce, CallKind::kReduceScatter, CallKind::kReduce}) {
          Case c;
          c.call = {.kind = kind, .dtype = dtype, .count = 5, .reduction = reduction, .root = 1};
          c.outputs = all(members, 5);
          c.inputs = all(members, kind == CallKind::kReduceScatter ? 5 * members : 5);
          compare(c);
        }
}

TEST(complex_numbers_are_summed_and_nothing_else) {
  Case c;
  c.call = {.kind = CallKind::kAllReduce, .dtype = DType::kComplex64, .count = 4};
  c.inputs = c.outputs = all(2, 4);
  compare(c);
  c.call.reduction = Reduction::kProd;
  CHECK_THROWS(Error, compare(c), "all_reduce: NCCL has no prod of complex64");
  c.call.dtype = DType::kInt16;
  CHECK_THROWS(Error, compare(c), "all_reduce: NCCL has no prod of int16; convert to int32 first");
}

TEST(every_dtype_moves) {
  for (int d = 0; d < kDTypeCount; d++)
    for (int members : {2, 3}) {
      Case c;
      c.call = {.kind = CallKind::kBroadcast, .dtype = static_cast<DType>(d), .count = 7, .root = 1};
      c.inputs = c.outputs = all(members, 7);
      compare(c);
      c.call.kind = CallKind::kAllGather;
      c.outputs = all(members, 7 * members);
      compare(c);
      c.call.kind = CallKind::kGather;
      compare(c);
      c.call.kind = CallKind::kScatter;
      c.inputs = all(members, 7 * members);
      c.outputs = all(members, 7);
      compare(c);
    }
}

TEST(parts_may_differ_in_size_and_be_empty) {
  for (std::vector<int64_t> counts : {std::vector<int64_t>{3, 0}, {2, 0, 4}, {0, 0, 1}, {2, 2, 2}}) {
    auto members = static_cast<int>(counts.size());
    int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    Case c;
    c.counts = counts;
    c.call = {.kind = CallKind::kAllGather, .root = members - 1};
    c.inputs = counts;
    c.outputs = all(members, total);
    compare(c);
    c.call.kind = CallKind::kGather;
    compare(c);
    c.inputs = all(members, total);
    c.outputs = counts;
    c.call.kind = CallKind::kScatter;
    compare(c);
    c.call.kind = CallKind::kReduceScatter;
    compare(c);
  }
}

TEST(all_to_all_moves_what_both_sides_state) {
  Case c;
  c.call = {.kind = CallKind::kAllToAll};
  c.sends = {{1, 2, 0}, {3, 1, 2}, {0, 0, 4}};
  c.receives = {{1, 3, 0}, {2, 1, 0}, {0, 2, 4}};
  c.inputs = {3, 6, 4};
  c.outputs = {4, 3, 6};
  compare(c);
  c.receives[0][1] = 2;
  CHECK_THROWS(Error, compare(c), "all_to_all: member 1 sends 3 elements to member 0, which wants 2");
}

TEST(calls_may_be_in_place) {
  begin(2);
  Ref<Group> group = Group::make({0, 1}, kDefaultTimeoutMs, kCuda);
  OnDevice a(numbered(DType::kFloat32, 4, 0), 0), b(numbered(DType::kFloat32, 4, 1), 1);
  Part parts[] = {{a.data(), a.data(), {}, {}}, {b.data(), b.data(), {}, {}}};
  group->post({.kind = CallKind::kAllReduce, .parts = parts, .count = 4})->wait();
  CHECK(a.read() == b.read());
  Part rows[] = {{a.data(), a.data(), {}, {}}, {b.data() + 8, b.data(), {}, {}}};
  group->post({.kind = CallKind::kAllGather, .parts = rows, .count = 2})->wait();
  CHECK(a.read() == b.read());
}

TEST(messages_between_devices_of_a_process) {
  begin(2);
  Ref<Group> group = Group::make({1, 0}, kDefaultTimeoutMs, kCuda);
  OnDevice from(numbered(DType::kInt32, 6, 0), 1), to(numbered(DType::kInt32, 6, 9), 0);
  Message message{.from = 0, .to = 1, .data = to.data(), .count = 6, .dtype = DType::kInt32, .tag = 5};
  Ref<Request> received = group->receive(message);
  CHECK(!received->test());
  message.data = from.data();
  Ref<Request> sent = group->send(message);
  received->wait();
  sent->wait();
  CHECK(received->test() && sent->test());
  CHECK(to.read() == from.read());
  message.count = 5;
  Ref<Request> short_one = group->send(message);
  message.count = 6;
  message.data = to.data();
  Ref<Request> long_one = group->receive(message);
  CHECK_THROWS(Error, long_one->wait(),
               "send: member 0 of group [1, 0] sends 5 int32, member 1 receives 6 int32");
  CHECK_THROWS(Error, group->receive(message)->wait(20), "recv: no other end came within 20 ms");
}

TEST(a_group_of_gpus_belongs_to_one_of_cpus) {
  begin(2);
  Ref<Group> group = Group::make({0, 1});
  CHECK(group->on(kCuda) == group->on(kCuda));
  CHECK(group->on(device::DeviceType::kCpu) == group);
  CHECK_EQ(group->on(kCuda)->name(), "group [0, 1]");
  int ranks[] = {0, 1};
  CHECK(Group::of(ranks, Caller::kEager, kCuda) == Group::of(ranks, Caller::kEager, kCuda));
  CHECK(!(Group::of(ranks, Caller::kEager, kCuda) == Group::of(ranks)));
}

TEST(memory_of_another_device_is_an_error_and_ends_the_group) {
  begin(2);
  Ref<Group> group = Group::make({0, 1}, kDefaultTimeoutMs, kCuda);
  OnDevice a(numbered(DType::kFloat32, 4, 0), 0), b(numbered(DType::kFloat32, 4, 1), 0);
  Part parts[] = {{a.data(), a.data(), {}, {}}, {b.data(), b.data(), {}, {}}};
  Call call{.kind = CallKind::kAllReduce, .parts = parts, .count = 4};
  CHECK_THROWS(Error, group->post(call)->wait(), "rank 1 gives memory that is not of device 1");
  CHECK_THROWS(Error, group->post(call), "group [0, 1] is out of use since a call has failed");
  group->begin_anew();
  OnDevice c(numbered(DType::kFloat32, 4, 1), 1);
  parts[1] = {c.data(), c.data(), {}, {}};
  group->post(call)->wait();
  CHECK(a.read() == c.read());
}

}  // namespace tw::comm
