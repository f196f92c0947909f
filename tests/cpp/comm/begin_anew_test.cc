// Groups that have failed and begin anew: who hears of the failure, and that nothing of the time before is
// taken for something new.
#include <unistd.h>

#include <barrier>
#include <random>

#include "comm/processes.h"

namespace tw::comm {

namespace {

// Runs body(group, rank, all) in three processes, one a rank of the group, on one machine and then on two.
// Whoever ends, however it ends, is not waited for in `all` any more.
template <class Body>
void run_three(const char* transport, const std::vector<int>& ranks, Body body) {
  for (const std::vector<int>& hosts : {std::vector{0, 0, 0}, std::vector{0, 1, 1}}) {
    std::barrier all(3);
    run_processes(
        {1, 1, 1}, hosts,
        [&](Fabric& fabric) {
          Ref<Group> group = make_process_group(fabric, ranks, 20'000, 0);
          const std::unique_ptr<std::barrier<>, void (*)(std::barrier<>*)> leave(
              &all, [](std::barrier<>* barrier) { barrier->arrive_and_drop(); });
          body(*group, fabric.world().self(), all);
        },
        transport);
  }
}

// The sum over three ranks of rank + 1 + round, and a message around the circle.
void check_round(Group& group, int rank, int round) {
  float data[3] = {static_cast<float>(rank + 1 + round), 0, 0}, got = -1;
  Part part{data, data};
  Ref<Request> sum = group.post({.kind = CallKind::kAllReduce, .parts = {&part, 1}, .count = 3});
  float mine = static_cast<float>(100 * round + rank);
  int next = (rank + 1) % 3, last = (rank + 2) % 3;
  Ref<Request> sent = group.send({.from = rank, .to = next, .data = &mine, .count = 1, .tag = 7});
  Ref<Request> received = group.receive({.from = last, .to = rank, .data = &got, .count = 1, .tag = 7});
  for (const auto& request : {sum, sent, received}) request->wait();
  CHECK_EQ(data[0], static_cast<float>(6 + 3 * round));
  CHECK_EQ(got, static_cast<float>(100 * round + last));
}

// Fails in some state: before others have come, with a call or with messages under way that nobody takes.
void fail_somehow(Group& group, int rank, uint64_t how, const std::string& reason) {
  static float lost[4] = {-7, -7, -7, -7};
  float data[3] = {-1000, 0, 0};
  Part part{data, data};
  Ref<Request> call;
  if (how % 2) call = group.post({.kind = CallKind::kAllReduce, .parts = {&part, 1}, .count = 3});
  if (how / 2 % 2)
    for (int other : {0, 1, 2})
      if (other != rank) group.send({.from = rank, .to = other, .data = lost, .count = 1, .tag = 7});
  if (how / 4 % 2) usleep(static_cast<unsigned>(how % 3000));
  if (call && call->test()) call = nullptr;  // all had come
  group.give_up(reason);
}

// Calls until the news of the failure come.
std::string hear(Group& group) {
  for (int call = 0; call < 100; call++) {
    float data[3] = {-1000, 0, 0};
    Part part{data, data};
    try {
      group.post({.kind = CallKind::kAllReduce, .parts = {&part, 1}, .count = 3})->wait();
    } catch (const Error& error) {
      return error.what();
    }
  }
  return "nothing";
}

}  // namespace

TEST_OVER_EACH(after_a_failure_calls_and_messages_work_again) {
  run_three(transport, {0, 1, 2}, [](Group& group, int rank, std::barrier<>& all) {
    std::mt19937_64 random(rank);
    for (int round = 0; round < 12; round++) {
      CHECK_EQ(group.epoch(), static_cast<uint64_t>(round));
      if (round % 2) check_round(group, rank, round);
      std::string reason = cat("rank ", round % 3, ": failure ", round);
      if (rank == round % 3)
        fail_somehow(group, rank, random(), reason);
      else
        CHECK_EQ(hear(group), reason);
      CHECK_THROWS(Error, group.post({}),
                   cat("group [0, 1, 2] is out of use since a call has failed: ", reason));
      if (random() % 2) usleep(static_cast<unsigned>(random() % 20'000));
      group.begin_anew();
      CHECK_EQ(group.next_number(), 0);
      check_round(group, rank, round);
      group.begin_anew();  // nothing has failed
      check_round(group, rank, round);
    }
    all.arrive_and_wait();  // who ends earlier would be said to have ended
  });
}

// All of a group may fail at once, each for a reason of its own: that is one failure.
TEST_OVER_EACH(failures_of_all_at_once_are_one) {
  run_three(transport, {2, 0, 1}, [](Group& group, int rank, std::barrier<>& all) {
    for (int round = 0; round < 20; round++) {
      all.arrive_and_wait();
      group.give_up(cat("rank ", rank));
      group.begin_anew();
      group.post({})->wait();
      CHECK_EQ(group.epoch(), static_cast<uint64_t>(round + 1));
    }
    all.arrive_and_wait();
  });
}

// Rank 1 is stuck while the others try three times: it hears of each failure, then all meet.
TEST_OVER_EACH(who_comes_late_hears_of_all_that_has_failed_meanwhile) {
  run_three(transport, {0, 1, 2}, [](Group& group, int rank, std::barrier<>& all) {
    group.post({})->wait();
    if (rank == 1) all.arrive_and_wait();
    for (int attempt = 0; attempt < 3; attempt++) {
      auto meet = [&] {
        group.begin_anew();
        group.post({})->wait(rank == 0 ? 200 : 20'000);
      };
      CHECK_THROWS(Error, meet(), "not complete within 200 ms in group [0, 1, 2]: waiting for rank 1");
    }
    if (rank != 1) all.arrive_and_wait();
    group.begin_anew();
    check_round(group, rank, 0);
    CHECK_EQ(group.epoch(), 3u);
    all.arrive_and_wait();
  });
}

// Every call after the end of a process names it, and what went wrong before.
TEST_OVER_EACH(who_has_ended_is_named_again_with_the_first_cause) {
  run_three(transport, {0, 1, 2}, [](Group& group, int rank, std::barrier<>& all) {
    group.post({})->wait();
    all.arrive_and_wait();  // the barrier is over in all
    if (rank == 2) return group.give_up("rank 2: no more tests");
    CHECK_EQ(hear(group), "rank 2: no more tests");
    for (int attempt = 0; attempt < 3; attempt++) {
      int64_t begin = now_ns();
      auto meet = [&] {  // the other one may have noticed and told before this one begins
        group.begin_anew();
        group.post({.origin = "loop.py:5"})->wait();
      };
      CHECK_THROWS(Error, meet(),
                   "barrier at loop.py:5: rank 2 of group [0, 1, 2] has ended (first of all: rank 2: no "
                   "more tests)");
      CHECK_LT(now_ns() - begin, 10'000'000'000);
    }
    all.arrive_and_wait();
  });
}

// Either may be named; nobody waits for ever.
TEST_OVER_EACH(two_that_end_at_once_are_an_error_in_the_third) {
  run_three(transport, {0, 1, 2}, [](Group& group, int rank, std::barrier<>&) {
    group.post({})->wait();
    if (rank != 0) return;
    for (int attempt = 0; attempt < 3; attempt++) {
      std::string heard = hear(group);
      bool named = heard.find("rank 1 of group [0, 1, 2] has ended") != std::string::npos ||
                   heard.find("rank 2 of group [0, 1, 2] has ended") != std::string::npos;
      if (!named) test::fail(__FILE__, __LINE__, heard);
      group.begin_anew();
    }
  });
}

}  // namespace tw::comm
