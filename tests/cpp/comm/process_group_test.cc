// Processes played by threads: each has a fabric of its own, and all go through sockets and shared memory.
#include "comm/process_group.h"

#include <atomic>
#include <cmath>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "comm/local_calls.h"
#include "test.h"

namespace tw::comm {

namespace {

std::atomic<int> next_port{23000 + static_cast<int>(now_ns() / 1000 % 20000)};

// Runs body(fabric) in `processes` threads, each with as many ranks as `devices` says; rethrows the first
// error.
template <class Body>
void run_processes(std::vector<int> devices, Body body) {
  int port = next_port++;
  std::vector<std::thread> threads;
  std::vector<std::string> errors(devices.size());
  for (int p = 0; p < static_cast<int>(devices.size()); p++) {
    threads.emplace_back([&, p] {
      try {
        JobOptions options{.process = p,
                           .processes = static_cast<int>(devices.size()),
                           .port = port,
                           .devices = devices[p],
                           .timeout_ms = 20'000};
        std::unique_ptr<Fabric> fabric = Fabric::make(options);
        body(*fabric);
      } catch (const std::exception& error) {
        errors[p] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK_EQ(error, "");
}

std::vector<int> all_ranks(const Fabric& fabric) {
  std::vector<int> ranks(fabric.world().size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The element i of what member m of a call brings.
float element(int m, int64_t i) { return static_cast<float>((m * 7919 + i * 31) % 1009) * 0.25f; }

struct Expected {
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<std::vector<int64_t>> sends, receives;
  std::vector<Part> parts;
};

// All members' memory of a call, and what it gives when they are all in one process.
Expected expected(Call call, int members, const std::vector<int64_t>& counts, bool in_place) {
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
void check_call(Group& group, Call call, const std::vector<int64_t>& counts, bool in_place, bool exact) {
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
void check_all_calls(Fabric& fabric, std::vector<int> ranks, int64_t scale, bool exact) {
  Ref<Group> group = make_process_group(fabric, ranks, 20'000, 0);
  int members = group->size();
  std::vector<int64_t> counts;
  for (int m = 0; m < members; m++) counts.push_back(m == 1 ? 0 : (m + 2) * scale);
  std::vector<int64_t> equal(members, 3 * scale);
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

}  // namespace

TEST(calls_among_processes_give_what_one_process_gives) {
  for (std::vector<int> devices : {std::vector{1, 1}, std::vector{1, 1, 1, 1}}) {
    run_processes(devices, [](Fabric& fabric) {
      std::vector<int> ranks = all_ranks(fabric);
      check_all_calls(fabric, ranks, 1, true);
      std::reverse(ranks.begin(), ranks.end());
      check_all_calls(fabric, ranks, 60'001, ranks.size() == 2);
    });
  }
}

TEST(processes_may_own_several_members_in_any_order) {
  run_processes({2, 1, 3}, [](Fabric& fabric) {
    check_all_calls(fabric, {4, 0, 2, 1, 5, 3}, 1, false);
    check_all_calls(fabric, {5, 2, 0}, 20'011, false);
  });
}

TEST(results_are_equal_on_all_ranks_bit_for_bit) {
  std::vector<std::vector<float>> results(3);
  run_processes({1, 1, 1}, [&](Fabric& fabric) {
    Ref<Group> group = make_process_group(fabric, {0, 1, 2}, 20'000, 0);
    std::vector<float> data(200'000);
    int rank = fabric.world().self();
    for (size_t i = 0; i < data.size(); i++) data[i] = std::sin(static_cast<float>(i * (rank + 1)));
    Part part{data.data(), data.data()};
    group->post({.kind = CallKind::kAllReduce, .parts = {&part, 1}, .count = 200'000})->wait();
    results[rank] = data;
  });
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST(calls_of_two_groups_may_be_waited_for_in_any_order) {
  run_processes({1, 1}, [](Fabric& fabric) {
    Ref<Group> groups[] = {make_process_group(fabric, {0, 1}, 20'000, 0),
                           make_process_group(fabric, {1, 0}, 20'000, 0)};
    std::vector<float> data(2 * 300'000, 1.f);
    for (int step = 0; step < 20; step++) {
      std::vector<Ref<Request>> requests;
      bool swap = fabric.world().self() == 1;
      for (int g : {swap ? 1 : 0, swap ? 0 : 1}) {
        Part part{data.data() + g * 300'000, data.data() + g * 300'000};
        requests.push_back(groups[g]->post({.kind = CallKind::kAllReduce,
                                            .parts = {&part, 1},
                                            .count = 300'000,
                                            .reduction = Reduction::kMax}));
      }
      for (const auto& request : requests) request->wait();
    }
    CHECK_EQ(data[77], 1.f);
  });
}

TEST(calls_that_do_not_fit_fail_everywhere_and_say_who_called_what) {
  run_processes({1, 1, 1}, [](Fabric& fabric) {
    Ref<Group> group = make_process_group(fabric, {0, 1, 2}, 20'000, 0);
    float data[4] = {};
    Part part{data, data};
    bool odd = fabric.world().self() == 1;
    Call call{.kind = odd ? CallKind::kBroadcast : CallKind::kAllReduce,
              .parts = {&part, 1},
              .count = 4,
              .origin = odd ? "odd.py:7" : "even.py:3"};
    for (int again = 0; again < 2; again++) {
      CHECK_THROWS(
          Error, group->post(call)->wait(),
          "rank 0: all_reduce of float32, 4 elements (sum) at even.py:3; rank 1: broadcast of float32, 4 "
          "elements with root 0 at odd.py:7; rank 2: all_reduce");
    }
  });
  run_processes({1, 1}, [](Fabric& fabric) {
    Ref<Group> group = make_process_group(fabric, {0, 1}, 20'000, 0);
    float data[6] = {};
    Part part{data, data};
    Call call{.kind = CallKind::kAllReduce, .parts = {&part, 1}, .count = 6};
    call.shape = fabric.world().self() == 0 ? Dims{2, 3} : Dims{3, 2};
    CHECK_THROWS(Error, group->post(call)->wait(),
                 "rank 0: all_reduce of float32 [2, 3] (sum); rank 1: all_reduce of "
                 "float32 [3, 2] (sum)");
  });
}

TEST(who_does_not_come_in_time_is_named) {
  std::latch told(3);  // who ends earlier would be said to have ended
  run_processes({1, 1, 1}, [&](Fabric& fabric) {
    Ref<Group> group = make_process_group(fabric, {0, 1, 2}, 20'000, 0);
    group->post({})->wait();
    if (fabric.world().self() == 2) return told.arrive_and_wait();  // it never posts the next one
    CHECK_THROWS(Error, group->post({.origin = "loop.py:5"})->wait(fabric.world().self() == 0 ? 300 : 20'000),
                 "barrier at loop.py:5: not complete within 300 ms in group [0, 1, 2]: waiting for rank 2");
    told.arrive_and_wait();
  });
}

TEST(messages_among_processes_keep_their_order_and_may_come_early) {
  run_processes({1, 1}, [](Fabric& fabric) {
    Ref<Group> group = make_process_group(fabric, {0, 1}, 20'000, 0);
    constexpr int64_t kLong = 400'000;
    std::vector<float> a(kLong, 1.f), b(3, 2.f), c(kLong, 3.f);
    auto message = [&](std::vector<float>& data, int from, int64_t tag) {
      return Message{.from = from,
                     .to = 1 - from,
                     .data = data.data(),
                     .count = static_cast<int64_t>(data.size()),
                     .tag = tag};
    };
    if (fabric.world().self() == 0) {
      std::vector<Ref<Request>> sent = {group->send(message(a, 0, 1)), group->send(message(b, 0, 2)),
                                        group->send(message(c, 0, 1))};
      for (const auto& request : sent) request->wait();
      group->receive(message(a, 1, 0))->wait();
      CHECK_EQ(a[0], 3.f);
    } else {
      std::vector<float> got_b(3), first(kLong), second(kLong);
      group->receive(message(got_b, 0, 2))->wait();
      group->receive(message(first, 0, 1))->wait();
      group->receive(message(second, 0, 1))->wait();
      CHECK_EQ(got_b[2], 2.f);
      CHECK_EQ(first[kLong - 1], 1.f);
      CHECK_EQ(second[kLong - 1], 3.f);
      group->send(message(second, 1, 0))->wait();
    }
    std::vector<float> wrong(2);
    Ref<Request> request =
        fabric.world().self() == 0 ? group->send(message(b, 0, 5)) : group->receive(message(wrong, 0, 5));
    if (fabric.world().self() == 1) CHECK_THROWS(Error, request->wait(), "sent: float32, 3 elements");
  });
}

TEST(rendezvous_names_who_is_absent_and_who_comes_twice) {
  int port = next_port++;
  JobOptions options{.process = 0, .processes = 3, .port = port, .timeout_ms = 300};
  CHECK_THROWS(Error, Fabric::make(options), "processes [1, 2] of 3 did not come in time");
  port = next_port++;
  std::thread other([&] {
    JobOptions two{.process = 1, .processes = 4, .port = port, .timeout_ms = 5000};
    CHECK_THROWS(Error, Fabric::make(two), "process 1 expects 4 processes, process 0 expects 3");
  });
  options.port = port;
  options.timeout_ms = 5000;
  CHECK_THROWS(Error, Fabric::make(options), "process 1 expects 4 processes, process 0 expects 3");
  other.join();
}

}  // namespace tw::comm
