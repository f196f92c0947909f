// Groups over several machines: played by processes on one that do not share memory, so that all goes over
// TCP.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "comm/processes.h"
#include "test.h"

namespace tw::comm {

namespace {

using Hosts = std::vector<int>;

std::vector<int> one_each(const Hosts& hosts) { return std::vector<int>(hosts.size(), 1); }

Call all_reduce(const Part& part, int64_t count, Levels levels = Levels::kAuto) {
  return {.kind = CallKind::kAllReduce, .parts = {&part, 1}, .count = count, .levels = levels};
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

TEST_OVER_EACH(calls_between_machines_give_what_one_process_gives) {
  for (const Hosts& hosts :
       {Hosts{0, 1}, Hosts{0, 0, 1, 1}, Hosts{0, 1, 0, 1}, Hosts{0, 1, 1, 1, 0}, Hosts{0, 1, 2, 2}})
    run_processes(
        one_each(hosts), hosts,
        [&](Fabric& fabric) {
          std::vector<int> ranks = all_ranks(fabric);
          for (uint64_t i : {0, 1})
            check_all_calls(fabric, ranks, 1, false, i ? Levels::kOne : Levels::kTwo, i);
          std::reverse(ranks.begin(), ranks.end());
          for (uint64_t i : {0, 1})
            check_all_calls(fabric, ranks, 20'011, false, i ? Levels::kOne : Levels::kAuto, i);
        },
        transport);
}

TEST_OVER_EACH(processes_on_several_machines_may_own_several_members) {
  run_processes(
      {2, 1, 3, 1}, {0, 0, 1, 1},
      [](Fabric& fabric) {
        check_all_calls(fabric, {4, 0, 2, 1, 5, 3, 6}, 1, false, Levels::kTwo);
        check_all_calls(fabric, {5, 2, 0, 6}, 20'011, false);
      },
      transport);
}

TEST_OVER_EACH(every_byte_goes_once_between_machines) {
  constexpr int64_t kCount = 120'000, kBytes = kCount * 4;
  for (const Hosts& hosts : {Hosts{0, 0, 1, 1}, Hosts{0, 0, 0, 1, 1, 1}, Hosts{0, 0, 1, 1, 2, 2}}) {
    std::atomic<int64_t> far[3] = {0, 0, 0}, flat = 0;
    int64_t machines = static_cast<int64_t>(std::set<int>(hosts.begin(), hosts.end()).size());
    int64_t processes = static_cast<int64_t>(hosts.size());
    run_processes(
        one_each(hosts), hosts,
        [&](Fabric& fabric) {
          std::vector<float> part(kCount / processes), whole(kCount, 1.f);
          Part in_place{whole.data(), whole.data()}, gathers{part.data(), whole.data()},
              cuts{whole.data(), part.data()};
          int64_t own = static_cast<int64_t>(part.size());
          Call calls[] = {all_reduce(in_place, kCount),
                          {.kind = CallKind::kAllGather, .parts = {&gathers, 1}, .count = own},
                          {.kind = CallKind::kReduceScatter, .parts = {&cuts, 1}, .count = own}};
          for (int i = 0; i < 3; i++) {
            Ref<Group> group =
                make_process_group(fabric, all_ranks(fabric), 20'000, static_cast<uint64_t>(i));
            group->post(calls[i])->wait();
            far[i] += group->far_bytes();
            CHECK(group->moved_bytes() >= group->far_bytes());
          }
          Ref<Group> group = make_process_group(fabric, all_ranks(fabric), 20'000, 3);
          group->post(all_reduce(in_place, kCount, Levels::kOne))->wait();
          flat += group->far_bytes();
        },
        transport);
    CHECK_EQ(far[0].load(), 2 * (machines - 1) * kBytes);  // each machine's sums out, and the results back
    CHECK_EQ(far[1].load(), (machines - 1) * kBytes);
    CHECK_EQ(far[2].load(), (machines - 1) * kBytes);
    CHECK(std::abs(flat.load() - far[0].load() * processes / machines) < 1000);
  }
}

TEST_OVER_EACH(sums_between_machines_are_equal_on_all_ranks_bit_for_bit) {
  for (const Hosts& hosts : {Hosts{0, 0, 1, 1}, Hosts{0, 1, 2, 2, 1}}) {
    std::vector<std::vector<float>> results(hosts.size());
    run_processes(
        one_each(hosts), hosts,
        [&](Fabric& fabric) {
          Ref<Group> group = make_process_group(fabric, all_ranks(fabric), 20'000, 0);
          std::vector<float> data(200'000);
          int rank = fabric.world().self();
          for (size_t i = 0; i < data.size(); i++) data[i] = std::sin(static_cast<float>(i * (rank + 1)));
          Part part{data.data(), data.data()};
          for (int step = 0; step < 3; step++) group->post(all_reduce(part, 200'000))->wait();
          results[rank] = data;
        },
        transport);
    for (const std::vector<float>& result : results) CHECK(result == results[0]);
  }
}

TEST_OVER_EACH(a_group_that_is_stuck_between_machines_does_not_hold_up_others) {
  run_processes(
      {1, 1}, {0, 1},
      [](Fabric& fabric) {
        Ref<Group> stuck = make_process_group(fabric, {0, 1}, 20'000, 0),
                   busy = make_process_group(fabric, {1, 0}, 20'000, 0);
        std::vector<float> large(8'000'000), small(1000, 1.f);
        Part all{large.data(), large.data()}, few{small.data(), small.data()};
        bool late = fabric.world().self() == 1;
        Ref<Request> waiting;
        if (!late) waiting = stuck->post(all_reduce(all, 8'000'000));
        for (int step = 0; step < 200; step++) busy->post(all_reduce(few, 1000))->wait();
        CHECK(small[0] > 1.f);
        if (late) waiting = stuck->post(all_reduce(all, 8'000'000));
        waiting->wait();
      },
      transport);
}

TEST_OVER_EACH(who_waits_for_another_machine_sleeps) {
  std::latch begun(2);
  double used = 0;
  run_processes(
      {1, 1}, {0, 1},
      [&](Fabric& fabric) {
        Ref<Group> group = make_process_group(fabric, {0, 1}, 20'000, 0);
        group->post({})->wait();
        // Data for a later call has come, which nobody wants yet.
        Ref<Group> other = make_process_group(fabric, {1, 0}, 20'000, 0);
        bool late = fabric.world().self() == 1;
        Ref<Request> early = late ? other->post({}) : nullptr;
        begun.arrive_and_wait();
        double before = cpu_seconds();
        if (late) {
          timespec pause{0, 500'000'000};
          nanosleep(&pause, nullptr);
          used = cpu_seconds() - before;
        }
        group->post({})->wait();
        if (!late) early = other->post({});
        early->wait();
      },
      transport);
  CHECK(used < 0.1);
}

TEST_OVER_EACH(messages_between_machines_keep_their_order_and_may_come_early) {
  run_processes(
      {1, 1}, {0, 1},
      [](Fabric& fabric) {
        Ref<Group> group = make_process_group(fabric, {0, 1}, 20'000, 0);
        constexpr int64_t kLong = 2'000'000;
        std::vector<float> a(kLong, 1.f), b(3, 2.f), c(kLong, 3.f);
        auto message = [&](std::vector<float>& data, int64_t tag) {
          return Message{.from = 0,
                         .to = 1,
                         .data = data.data(),
                         .count = static_cast<int64_t>(data.size()),
                         .tag = tag};
        };
        if (fabric.world().self() == 0) {
          std::vector<Ref<Request>> sent = {group->send(message(a, 1)), group->send(message(b, 2)),
                                            group->send(message(c, 1))};
          for (const auto& request : sent) request->wait();
        } else {
          std::vector<float> got(3), first(kLong), second(kLong);
          group->receive(message(got, 2))->wait();
          group->receive(message(first, 1))->wait();
          group->receive(message(second, 1))->wait();
          CHECK_EQ(got[2], 2.f);
          CHECK_EQ(first[kLong - 1], 1.f);
          CHECK_EQ(second[kLong - 1], 3.f);
        }
        group->post({})->wait();
      },
      transport);
}

// What was on its way to it then comes to nothing, and the group goes on. The two sides move the message in
// turns until it has begun to arrive, and then the sender stops, so that it is never complete.
TEST_OVER_EACH(memory_of_a_message_that_has_failed_is_not_written_any_more) {
  std::atomic<int> turn{1};
  std::atomic<bool> begun{false}, failed{false};
  run_processes(
      {1, 1}, {0, 1},
      [&](Fabric& fabric) {
        Ref<Group> group = make_process_group(fabric, {0, 1}, 20'000, 0);
        group->post({})->wait();
        std::vector<float> data(16'000'000, fabric.world().self() == 1 ? 1.f : 0.f);
        Message message{.from = 1, .to = 0, .data = data.data(), .count = 16'000'000};
        if (fabric.world().self() == 1) {
          Ref<Request> going = group->send(message);
          for (; !begun; std::this_thread::yield())
            if (turn == 1) CHECK(!going->test()), turn = 0;
          for (int ms = 0; ms < 20'000 && !failed; ms++)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          CHECK_THROWS(Error, going->wait(), "not complete within 1 ms");
        } else {
          Ref<Request> coming = group->receive(message);
          for (; std::atomic_ref(data[0]).load() != 1.f; std::this_thread::yield())
            if (turn == 0) CHECK(!coming->test()), turn = 1;
          begun = true;
          CHECK_THROWS(Error, coming->wait(1),
                       "not complete within 1 ms in group [0, 1]: waiting for rank 1");
          failed = true;
          data.assign(data.size(), 9.f);
        }
        group->begin_anew();
        for (int again = 0; again < 20; again++) group->post({})->wait();
        if (fabric.world().self() == 0)
          CHECK_EQ(std::count(data.begin(), data.end(), 9.f), static_cast<std::ptrdiff_t>(data.size()));
      },
      transport);
}

TEST_OVER_EACH(calls_that_do_not_fit_fail_on_all_machines) {
  run_processes(
      {1, 1, 1}, {0, 1, 1},
      [](Fabric& fabric) {
        Ref<Group> group = make_process_group(fabric, {0, 1, 2}, 20'000, 0);
        float data[4] = {};
        Part part{data, data};
        bool odd = fabric.world().self() == 1;
        Call call{.kind = odd ? CallKind::kBroadcast : CallKind::kAllReduce, .parts = {&part, 1}, .count = 4};
        CHECK_THROWS(
            Error, group->post(call)->wait(),
            "rank 0: all_reduce of float32, 4 elements (sum); rank 1: broadcast of float32, 4 elements "
            "with root 0");
      },
      transport);
}

TEST_OVER_EACH(a_reason_reaches_those_on_other_machines_who_wait) {
  run_processes(
      {1, 1, 1}, {0, 1, 1},
      [](Fabric& fabric) {
        Ref<Group> group = make_process_group(fabric, {0, 1, 2}, 20'000, 0);
        group->post({})->wait();
        if (fabric.world().self() == 2) {  // it posts no more
          CHECK_THROWS(Error, group->receive({.from = 0, .to = 2})->wait(10'000),
                       "not complete within 300 ms");
          return;
        }
        Ref<Request> request = group->post({.origin = "loop.py:5"});
        CHECK_THROWS(
            Error, request->wait(fabric.world().self() == 0 ? 300 : 10'000),
            "barrier at loop.py:5: not complete within 300 ms in group [0, 1, 2]: waiting for rank 2");
      },
      transport);
}

TEST_OVER_EACH(the_end_of_a_process_of_another_machine_is_noticed_after_what_it_has_sent) {
  run_processes(
      {1, 1}, {0, 1},
      [](Fabric& fabric) {
        Ref<Group> group = make_process_group(fabric, {0, 1}, 20'000, 0);
        std::vector<float> data(500'000, 1.f);
        Part part{data.data(), data.data()};
        Call call{.kind = CallKind::kBroadcast, .parts = {&part, 1}, .count = 500'000, .root = 1};
        if (fabric.world().self() == 1) {
          data.assign(data.size(), 5.f);
          group->post(call)->wait();
          return fabric.leave();
        }
        timespec pause{0, 300'000'000};
        nanosleep(&pause, nullptr);
        group->post(call)->wait();
        CHECK_EQ(data[499'999], 5.f);
        int64_t before = now_ns();
        CHECK_THROWS(Error, group->post(all_reduce(part, 4))->wait(),
                     "all_reduce of float32, 4 elements (sum): rank 1 of group [0, 1] has ended");
        CHECK(now_ns() - before < 2'000'000'000);
      },
      transport);
}

}  // namespace tw::comm
