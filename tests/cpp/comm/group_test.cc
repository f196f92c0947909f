#include "comm/group.h"

#include <numeric>
#include <thread>
#include <vector>

#include "comm/world.h"
#include "test.h"

namespace tw::comm {

namespace {

using Floats = std::vector<float>;

// Four ranks, in an order of their own.
Ref<Group> four() {
  set_devices(4);
  return Group::make({2, 0, 3, 1});
}

std::vector<Part> parts_of(std::vector<Floats>& inputs, std::vector<Floats>& outputs) {
  std::vector<Part> parts;
  for (size_t m = 0; m < inputs.size(); m++) parts.push_back({inputs[m].data(), outputs[m].data()});
  return parts;
}

std::vector<Floats> numbered(int members, int64_t count) {
  std::vector<Floats> inputs;
  for (int m = 0; m < members; m++) {
    inputs.emplace_back(count);
    for (int64_t i = 0; i < count; i++) inputs[m][i] = static_cast<float>(100 * m + i);
  }
  return inputs;
}

}  // namespace

TEST(world_numbers_ranks_and_hosts) {
  World w({{0, 2, 0}, {2, 1, 1}, {3, 3, 0}}, 2);
  CHECK_EQ(w.size(), 6);
  CHECK_EQ(w.first_rank(), 3);
  for (int rank : {0, 1, 2, 3, 4, 5}) CHECK_EQ(w.process_of(rank), rank < 2 ? 0 : rank < 3 ? 1 : 2);
  CHECK_EQ(w.host_count(), 2);
  CHECK_EQ(w.local_process(), 1);
  CHECK_EQ(w.local_process_count(), 2);
  CHECK_EQ(w.device_of(5).index, 2);
  CHECK_THROWS(Error, w.device_of(2), "rank 2 is not of this process");
  CHECK_THROWS(Error, w.process_of(6), "no rank 6");
}

TEST(groups_refuse_ranks_that_do_not_exist_or_come_twice) {
  set_devices(2);
  CHECK_THROWS(Error, Group::make({0, 2}), "no rank 2: the job has 2");
  CHECK_THROWS(Error, Group::make({1, 1}), "rank 1 comes twice");
  CHECK_THROWS(Error, Group::make({}), "got none");
  int ranks[] = {1, 0};
  CHECK(Group::of(ranks) == Group::of(ranks));
  CHECK(Group::of(ranks) != Group::of(ranks, Caller::kProgram));
  CHECK(Group::of(ranks, Caller::kProgram) == Group::of(ranks, Caller::kProgram));
  CHECK_EQ(Group::of(ranks)->member_of(0), 1);
  CHECK_EQ(Group::of(ranks)->member_of(7), -1);
}

TEST(all_reduce_is_equal_on_all_members_and_may_be_in_place) {
  Ref<Group> group = four();
  for (int64_t count : {0, 1, 5, 5000}) {
    for (bool in_place : {false, true}) {
      auto inputs = numbered(4, count), outputs = numbered(4, count);
      auto parts = parts_of(in_place ? outputs : inputs, outputs);
      int64_t before = group->moved_bytes();
      Call call{.kind = CallKind::kAllReduce, .parts = parts, .count = count};
      CHECK(group->post(call)->test());
      CHECK_EQ(group->moved_bytes() - before, 2 * 3 * count * 4);
      for (int m = 0; m < 4; m++)
        for (int64_t i = 0; i < count; i++) CHECK_EQ(outputs[m][i], static_cast<float>(600 + 4 * i));
    }
  }
}

TEST(parts_of_unequal_sizes_are_gathered_scattered_and_reduced) {
  Ref<Group> group = four();
  std::vector<int64_t> counts = {2, 0, 3, 1};
  auto whole = numbered(4, 6);
  std::vector<Floats> small;
  for (int64_t count : counts) small.emplace_back(count);

  auto parts = parts_of(whole, small);
  group->post({.kind = CallKind::kReduceScatter, .parts = parts, .counts = counts})->wait();
  CHECK(small == std::vector<Floats>{{600, 604}, {}, {608, 612, 616}, {620}});

  auto gathered = numbered(4, 6);
  parts = parts_of(small, gathered);
  group->post({.kind = CallKind::kAllGather, .parts = parts, .counts = counts})->wait();
  for (const Floats& row : gathered) CHECK(row == Floats{600, 604, 608, 612, 616, 620});

  parts = parts_of(whole, small);
  group->post({.kind = CallKind::kScatter, .parts = parts, .counts = counts, .root = 2})->wait();
  CHECK(small == std::vector<Floats>{{200, 201}, {}, {202, 203, 204}, {205}});

  parts = parts_of(small, gathered);
  for (int m : {0, 2, 3}) parts[m].output = nullptr;
  group->post({.kind = CallKind::kGather, .parts = parts, .counts = counts, .root = 1})->wait();
  CHECK(gathered[1] == whole[2]);
  CHECK(gathered[0] == Floats{600, 604, 608, 612, 616, 620});
}

TEST(reduce_and_broadcast_have_a_root) {
  Ref<Group> group = four();
  auto inputs = numbered(4, 3), outputs = numbered(4, 3);
  auto parts = parts_of(inputs, outputs);
  group
      ->post({.kind = CallKind::kReduce, .parts = parts, .count = 3, .reduction = Reduction::kMax, .root = 3})
      ->wait();
  CHECK(outputs[3] == Floats{300, 301, 302});
  CHECK(outputs[0] == inputs[0]);
  group->post({.kind = CallKind::kBroadcast, .parts = parts, .count = 3, .root = 1})->wait();
  for (const Floats& row : outputs) CHECK(row == inputs[1]);
  group->post({})->wait();
}

TEST(all_to_all_moves_what_both_sides_state) {
  Ref<Group> group = four();
  std::vector<Floats> inputs, outputs;
  std::vector<std::vector<int64_t>> sends(4), receives(4);
  for (int from = 0; from < 4; from++) {
    inputs.emplace_back();
    for (int to = 0; to < 4; to++) {
      sends[from].push_back((from + to) % 3);
      receives[to].push_back((from + to) % 3);
      for (int i = 0; i < (from + to) % 3; i++)
        inputs[from].push_back(static_cast<float>(100 * from + 10 * to + i));
    }
  }
  for (int to = 0; to < 4; to++)
    outputs.emplace_back(std::accumulate(receives[to].begin(), receives[to].end(), 0));
  auto parts = parts_of(inputs, outputs);
  for (int m = 0; m < 4; m++) parts[m].send_counts = sends[m], parts[m].receive_counts = receives[m];
  group->post({.kind = CallKind::kAllToAll, .parts = parts})->wait();
  CHECK(outputs[1] == Floats{10, 110, 111, 310});
  receives[1][0]++;
  CHECK_THROWS(Error, group->post({.kind = CallKind::kAllToAll, .parts = parts}),
               "member 0 sends 1 elements to member 1, which wants 2");
}

TEST(malformed_calls_are_refused) {
  Ref<Group> group = four();
  auto inputs = numbered(4, 3);
  auto parts = parts_of(inputs, inputs);
  std::vector<int64_t> counts = {1, 1};
  CHECK_THROWS(Error, group->post({.kind = CallKind::kAllReduce, .parts = std::span(parts).first(2)}),
               "all_reduce: the memory of 4 addressable members is wanted, got that of 2");
  CHECK_THROWS(Error, group->post({.kind = CallKind::kAllGather, .parts = parts, .counts = counts}), "got 2");
  CHECK_THROWS(Error, group->post({.kind = CallKind::kBroadcast, .parts = parts, .root = 4}), "got 4");
  CHECK_THROWS(Error, group->post({.kind = CallKind::kReduce, .parts = parts, .count = -1}), "negative");
  Call complex{
      .kind = CallKind::kAllReduce, .dtype = DType::kComplex64, .parts = parts, .reduction = Reduction::kMax};
  CHECK_THROWS(Error, group->post(complex), "complex numbers have no order");
}

TEST(messages_meet_in_order_by_tag_and_across_threads) {
  Ref<Group> group = four();
  float a = 1, b = 2, c = 3, got[3] = {};
  auto message = [](int from, int to, float& value, int64_t tag) {
    return Message{.from = from, .to = to, .data = &value, .count = 1, .tag = tag};
  };
  Ref<Request> first = group->send(message(0, 1, a, 7));
  CHECK(!first->test());
  group->send(message(0, 1, b, 8));
  group->send(message(0, 1, c, 7));
  CHECK(group->receive(message(0, 1, got[0], 8))->test());
  CHECK(group->receive(message(0, 1, got[1], 7))->test());
  CHECK(first->test());
  group->receive(message(0, 1, got[2], 7))->wait();
  CHECK_EQ(got[0], 2.f);
  CHECK_EQ(got[1], 1.f);
  CHECK_EQ(got[2], 3.f);

  Ref<Request> waiting = group->receive(message(2, 3, got[0], 0));
  std::thread sender([&] { group->send(message(2, 3, c, 0))->wait(); });
  waiting->wait();
  sender.join();
  CHECK_EQ(got[0], 3.f);

  CHECK_THROWS(Error, group->receive(message(3, 2, got[0], 0))->wait(1), "from member 3 to member 2");
  group->send(message(1, 2, a, 0));
  Message two{.from = 1, .to = 2, .data = got, .count = 2};
  CHECK_THROWS(Error, group->receive(two)->wait(), "sends 1 float32, member 2 receives 2 float32");
  CHECK_THROWS(Error, group->send(message(1, 1, a, 0)), "cannot send to itself");
}

}  // namespace tw::comm
