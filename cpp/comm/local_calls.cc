#include "comm/local_calls.h"

#include <cstring>

#include "base/error.h"
#include "comm/reduce.h"
#include "device/backend.h"

namespace tw::comm {

namespace {

class LocalCall {
 public:
  explicit LocalCall(const Call& call)
      : call_(call), size_(size_of(call.dtype)), members_(static_cast<int>(call.parts.size())) {}

  int64_t run() {
    switch (call_.kind) {
      case CallKind::kAllReduce:
        return all_reduce();
      case CallKind::kReduce:
        reduce_at(call_.parts[call_.root].output, 0, call_.count);
        break;
      case CallKind::kBroadcast:
        for (int m = 0; m < members_; m++) move(output(m), input(call_.root), call_.count, m != call_.root);
        break;
      case CallKind::kReduceScatter:
        for_parts([&](int m, int64_t offset, int64_t count) { reduce_at(output(m), offset, count); });
        break;
      case CallKind::kAllGather:
        for (int m = 0; m < members_; m++) gather_at(m);
        break;
      case CallKind::kGather:
        gather_at(call_.root);
        break;
      case CallKind::kScatter:
        for_parts([&](int m, int64_t offset, int64_t count) {
          move(output(m), input(call_.root) + offset * size_, count, m != call_.root);
        });
        break;
      case CallKind::kAllToAll:
        all_to_all();
        break;
      case CallKind::kBarrier:
        break;
    }
    return moved_;
  }

 private:
  const char* input(int member) const { return static_cast<const char*>(call_.parts[member].input); }
  char* output(int member) const { return static_cast<char*>(call_.parts[member].output); }

  void move(char* to, const char* from, int64_t count, bool to_another) {
    if (to_another) moved_ += count * size_;
    if (to == from || !to || count == 0) return;
    device::Backend& cpu = device::cpu_backend();
    cpu.copy(to, from, static_cast<size_t>(count * size_), cpu.current_stream(0));
  }

  template <class Body>
  void for_parts(Body body) {
    int64_t offset = 0;
    for (int m = 0; m < members_; m++) {
      body(m, offset, call_.count_of(m));
      offset += call_.count_of(m);
    }
  }

  void reduce_at(void* to, int64_t offset, int64_t count) {
    SmallVector<const void*, 16> inputs;
    for (int m = 0; m < members_; m++) inputs.push_back(input(m) + offset * size_);
    reduce(call_.dtype, call_.reduction, to, {inputs.data(), inputs.size()}, count);
    moved_ += (members_ - 1) * count * size_;
  }

  int64_t all_reduce() {
    reduce_at(output(0), 0, call_.count);
    for (int m = 1; m < members_; m++) move(output(m), output(0), call_.count, true);
    return moved_;
  }

  void gather_at(int to) {
    for_parts([&](int m, int64_t offset, int64_t count) {
      move(output(to) + offset * size_, input(m), count, m != to);
    });
  }

  void all_to_all() {
    check_exchange(call_);
    for (int to = 0; to < members_; to++) {
      int64_t offset = 0;
      for (int from = 0; from < members_; from++) {
        int64_t count = call_.parts[to].receive_counts[from];
        std::span<const int64_t> sends = call_.parts[from].send_counts;
        int64_t place = 0;
        for (int before = 0; before < to; before++) place += sends[before];
        move(output(to) + offset * size_, input(from) + place * size_, count, from != to);
        offset += count;
      }
    }
  }

  const Call& call_;
  int64_t size_;
  int members_;
  int64_t moved_ = 0;
};

}  // namespace

void check_exchange(const Call& call) {
  for (size_t to = 0; to < call.parts.size(); to++)
    for (size_t from = 0; from < call.parts.size(); from++) {
      int64_t sent = call.parts[from].send_counts[to], wanted = call.parts[to].receive_counts[from];
      TW_CHECK(sent == wanted, kValue, "all_to_all: member ", from, " sends ", sent, " elements to member ",
               to, ", which wants ", wanted);
    }
}

int64_t run_local(const Call& call) { return LocalCall(call).run(); }

}  // namespace tw::comm
