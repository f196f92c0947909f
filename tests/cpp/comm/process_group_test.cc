#include "comm/process_group.h"

#include <cmath>
#include <latch>
#include <thread>
#include <vector>

#include "comm/processes.h"
#include "test.h"

namespace tw::comm {

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
  int port = free_port();
  JobOptions options{.process = 0, .processes = 3, .port = port, .timeout_ms = 300};
  CHECK_THROWS(Error, Fabric::make(options), "processes [1, 2] of 3 did not come in time");
  port = free_port();
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
