// Processes played by threads: each has a fabric of its own, and all go through sockets and shared memory,
// or, where they are to be on several machines, over TCP or UCX.
#pragma once

#include "comm/process_group.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "comm/local_calls.h"
#include "comm/socket.h"
#include "comm/ucx_path.h"
#include "test.h"

namespace tw::comm {

// A port that nobody uses, below those that Linux gives to connections. Tests of other processes look for
// theirs at the same time.
inline int free_port() {
  std::random_device random;
  for (;;) {
    int port = std::uniform_int_distribution(20'000, 32'767)(random);
    if (listen_tcp(port)) return port;
  }
}

// A test whose machines talk over TCP, and once more over UCX; its body finds `transport`.
#define TEST_OVER_EACH(name)               \
  static void name(const char* transport); \
  TEST(name##_over_tcp) { name("tcp"); }   \
  TEST(name##_over_ucx) { name("ucx"); }   \
  static void name([[maybe_unused]] const char* transport)

// Runs body(fabric) in a thread for each process, which has as many ranks as `devices` and is on the machine
// that `hosts` says; rethrows the first error.
template <class Body>
void run_processes(std::vector<int> devices, std::vector<int> hosts, Body body,
                   const char* transport = "tcp") {
  set_ucx_library(TW_UCX_LIBRARY);
  int port = free_port();
  std::vector<std::thread> threads;
  std::vector<std::string> errors(devices.size());
  for (int p = 0; p < static_cast<int>(devices.size()); p++) {
    threads.emplace_back([&, p] {
      try {
        JobOptions options{.process = p,
                           .processes = static_cast<int>(devices.size()),
                           .port = port,
                           .devices = devices[p],
                           .timeout_ms = 20'000,
                           .host = cat(hosts[p]),
                           .transport = transport};
        std::unique_ptr<Fabric> fabric = Fabric::make(options);
        body(*fabric);
      } catch (const std::exception& error) {
        errors[p] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // All of them: the first to end makes others say that it has ended.
  std::string all;
  for (size_t p = 0; p < errors.size(); p++)
    if (!errors[p].empty()) all += cat("process ", p, ": ", errors[p], "; ");
  CHECK_EQ(all, "");
}

template <class Body>
void run_processes(std::vector<int> devices, Body body) {
  run_processes(devices, std::vector<int>(devices.size(), 0), body);
}

inline std::vector<int> all_ranks(const Fabric& fabric) {
  std::vector<int> ranks(fabric.world().size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The element i of what member m of a call brings.
inline float element(int m, int64_t i) { return static_cast<float>((m * 7919 + i * 31) % 1009) * 0.25f; }

struct Expected {
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<std::vector<int64_t>> sends, receives;
  std::vector<Part> parts;
};

// All members' memory of a call, and what it gives when they are all in one process.
inline Expected expected(Call call, int members, const std::vector<int64_t>& counts, bool in_place) {
  Expected e;
  int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  int64_t room = std::max(total, call.count) + 1;
  for (int m = 0; m < members; m++) {
    e.inputs.emplace_back(room);
    for (int64_t i = 0; i < room; i++) e.inputs[m][i] = element(m, i);
    e.outputs.emplace_back(room, -1.f);
    e.sends.emplace_back();
    e.receives.emplace_back();
    for (int other = 0; other < members; other++) {
      e.sends[m].push_back((counts[m] + other) % 5 * (counts[other] % 3));
      e.receives[m].push_back((counts[other] + m) % 5 * (counts[m] % 3));
    }
    if (call.kind == CallKind::kAllToAll) {
      e.inputs[m].resize(std::accumulate(e.sends[m].begin(), e.sends[m].end(), int64_t{1}));
      e.outputs[m].resize(std::accumulate(e.receives[m].begin(), e.receives[m].end(), int64_t{1}), -1.f);
    }
  }
  if (in_place) e.outputs = e.inputs;
  for (int m = 0; m < members; m++) {
    const float* input = in_place ? e.outputs[m].data() : e.inputs[m].data();
    e.parts.push_back({input, e.outputs[m].data(), e.sends[m], e.receives[m]});
  }
  call.parts = e.parts;
  run_local(call);
  return e;
}

// One process's part in the same call; compares its outputs with those of one process.
inline void check_one(Group& group, Call call, const std::vector<int64_t>& counts, bool in_place,
                      bool exact) {
  Expected all = expected(call, group.size(), counts, in_place);
  std::vector<std::vector<float>> inputs = all.inputs, outputs;
  std::vector<Part> parts;
  for (int m : group.members()) {
    outputs.push_back(in_place ? inputs[m] : std::vector<float>(all.outputs[m].size(), -1.f));
    parts.push_back({in_place ? outputs.back().data() : inputs[m].data(), outputs.back().data(), all.sends[m],
                     all.receives[m]});
  }
  for (size_t local = 0; local < parts.size(); local++) {
    parts[local].output = outputs[local].data();
    if (in_place) parts[local].input = outputs[local].data();
  }
  call.parts = parts;
  group.post(call)->wait(20'000);
  for (size_t local = 0; local < outputs.size(); local++) {
    const std::vector<float>& wanted = all.outputs[group.members()[local]];
    for (size_t i = 0; i < wanted.size(); i++)
      if (exact ? outputs[local][i] != wanted[i] : std::abs(outputs[local][i] - wanted[i]) > 1e-3)
        test::fail(__FILE__, __LINE__,
                   cat(name_of(call.kind), ", count ", call.count, ", member ", group.members()[local],
                       ", element ", i, ": ", outputs[local][i], " instead of ", wanted[i]));
  }
}

// Every kind of call, small and large, with parts that are uneven and empty.
inline void check_all_calls(Fabric& fabric, std::vector<int> ranks, int64_t scale, bool exact,
                            Levels levels = Levels::kAuto, uint64_t instance = 0) {
  Ref<Group> group = make_process_group(fabric, ranks, 20'000, instance);
  int members = group->size();
  std::vector<int64_t> counts;
  for (int m = 0; m < members; m++) counts.push_back(m == 1 ? 0 : (m + 2) * scale);
  std::vector<int64_t> equal(members, 3 * scale);
  auto check_call = [&](Group& group, Call call, const std::vector<int64_t>& counts, bool in_place,
                        bool exact) {
    call.levels = levels;
    comm::check_one(group, call, counts, in_place, exact);
  };
  for (bool in_place : {false, true}) {
    for (Reduction reduction : {Reduction::kSum, Reduction::kMax})
      check_call(*group, {.kind = CallKind::kAllReduce, .count = 5 * scale, .reduction = reduction}, equal,
                 in_place, exact);
    check_call(*group, {.kind = CallKind::kBroadcast, .count = 4 * scale, .root = members - 1}, equal,
               in_place, true);
    check_call(*group, {.kind = CallKind::kReduce, .count = 4 * scale, .root = 1}, equal, in_place, exact);
  }
  check_call(*group, {.kind = CallKind::kReduceScatter, .counts = counts}, counts, false, exact);
  check_call(*group, {.kind = CallKind::kReduceScatter, .count = 3 * scale}, equal, false, exact);
  check_call(*group, {.kind = CallKind::kAllGather, .counts = counts}, counts, false, true);
  check_call(*group, {.kind = CallKind::kGather, .counts = counts, .root = members / 2}, counts, false, true);
  check_call(*group, {.kind = CallKind::kScatter, .counts = counts, .root = members - 1}, counts, false,
             true);
  check_call(*group, {.kind = CallKind::kAllToAll}, counts, false, true);
  group->post({})->wait(20'000);
}

}  // namespace tw::comm
