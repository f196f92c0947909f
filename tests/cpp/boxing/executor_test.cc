#include "boxing/executor.h"

#include <complex>

#include "base/error.h"
#include "base/half.h"
#include "comm/world.h"
#include "sbp/boxing_arrays.h"
#include "sbp/boxing_layouts.h"
#include "test.h"

using namespace tw;
using namespace tw::sbp;

namespace {

constexpr int kRanks = 9;

// Runs the plan on int32 parts, as one process does or by messages between all ranks.
Parts run(const BoxingPlanRef& plan, const Parts& before, bool apart) {
  Parts after;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (int64_t rank : plan->from->placement->ranks) inputs.push_back(before.at(rank).values.data());
  for (int64_t position = 0; position < plan->to->placement->count(); position++) {
    Part& part = after[plan->to->placement->ranks[position]];
    part.box = box_of(*plan->to, plan->sizes, position);
    part.values.assign(elements(part.box), -777);
  }
  for (int64_t rank : plan->to->placement->ranks) outputs.push_back(after.at(rank).values.data());
  boxing::Call call;
  call.inputs = inputs;
  call.outputs = outputs;
  boxing::ProgramRef program =
      apart ? boxing::make_program(plan, DType::kInt32, true) : boxing::program_of(plan, DType::kInt32);
  CHECK_EQ(program->is_local(), !apart || plan->bytes == 0);
  Ref<comm::Request> request = boxing::post(*program, call);
  request->wait();
  CHECK(request->test());
  return after;
}

void check_run(const LayoutRef& from, const LayoutRef& to, const Dims& sizes, std::mt19937& random) {
  BoxingPlanRef plan = plan_boxing(from, to, sizes, 4);
  Parts before = spread_out(*from, sizes, random);
  for (bool apart : {false, true}) {
    try {
      check_parts(*to, sizes, run(plan, before, apart));
    } catch (const std::exception& failure) {
      test::fail(__FILE__, __LINE__, cat(failure.what(), apart ? "\napart: " : "\n", explain(*plan)));
    }
  }
}

int64_t check_pairs(const PlacementRef& a, const PlacementRef& b, const Dims& sizes, int64_t stride) {
  comm::set_devices(kRanks);
  std::mt19937 random(7);
  return for_pairs(a, b, sizes, stride,
                   [&](const LayoutRef& f, const LayoutRef& t) { check_run(f, t, sizes, random); });
}

// Two devices, from P or S to something, of any dtype.
template <class T>
std::vector<std::vector<T>> convert(const Sbp& from, const Sbp& to, const Dims& sizes,
                                    const std::vector<std::vector<T>>& before) {
  comm::set_devices(static_cast<int>(before.size()));
  PlacementRef where = mesh({static_cast<int64_t>(before.size())});
  BoxingPlanRef plan = plan_boxing(layout(where, {from}), layout(where, {to}), sizes, sizeof(T));
  std::vector<std::vector<T>> after;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < before.size(); i++) {
    after.emplace_back(elements(box_of(*plan->to, sizes, i)));
    inputs.push_back(before[i].data());
  }
  for (auto& part : after) outputs.push_back(part.data());
  boxing::Call call;
  call.inputs = inputs;
  call.outputs = outputs;
  boxing::post(plan, dtype_of<T>, call)->wait();
  return after;
}

}  // namespace

TEST(all_pairs_on_one_axis_run) {
  for (int64_t count : {2, 3, 4})
    for (const Dims& sizes : {Dims{12, 4}, Dims{7, 5}, Dims{0, 3}})
      CHECK_GE(check_pairs(mesh({count}), mesh({count}), sizes, 1), 49);
}

TEST(every_3rd_pair_on_2x2_runs) {
  for (const Dims& sizes : {Dims{12, 4}, Dims{7, 5}, Dims{1, 2}})
    CHECK_GE(check_pairs(mesh({2, 2}), mesh({2, 2}), sizes, 3), 800);
}

TEST(some_pairs_between_others_run) {
  check_pairs(mesh({2, 3}), mesh({2, 3}), {7, 5}, 17);
  check_pairs(mesh({2, 2, 2}), mesh({2, 2, 2}), {5, 3}, 211);
  check_pairs(mesh({3}), mesh({2}, 3), {7, 5}, 1);
  check_pairs(mesh({3}), mesh({2}, 1), {7, 5}, 1);
  check_pairs(line({1, 2, 3}), line({3, 0, 1}), {7, 5}, 1);
  check_pairs(mesh({4}), mesh({2, 2}), {7, 5}, 2);
  check_pairs(mesh({2, 2}), mesh({2, 2}, 2), {7, 5}, 7);
  check_pairs(mesh({2, 2}, 5), mesh({1}), {7, 5}, 1);
}

TEST(half_sums_are_rounded_once) {
  std::vector<bfloat16> ones(1, 1.0f), small(1, 1.0f / 256);  // 1 + 1/256 + 1/256 = 1 + 1/128, a bfloat16
  auto sums = convert<bfloat16>(partial(), broadcast(), {1}, {ones, small, small});
  for (const auto& part : sums) CHECK_EQ(static_cast<float>(part[0]), 1 + 1.0f / 128);
}

TEST(other_dtypes_are_moved_and_summed) {
  using Bytes = std::vector<uint8_t>;
  CHECK_EQ(convert<uint8_t>(split(0), broadcast(), {3}, {{1, 2}, {3}})[1], (Bytes{1, 2, 3}));
  CHECK_EQ(convert<uint8_t>(partial(), split(0), {3}, {{1, 2, 250}, {1, 1, 7}})[1], (Bytes{1}));
  using Pairs = std::vector<std::complex<double>>;
  CHECK_EQ(convert<std::complex<double>>(partial(), broadcast(), {1}, {{{1, 2}}, {{3, 4}}})[0][0],
           Pairs({{4, 6}})[0]);
  CHECK_THROWS(Error,
               convert<std::complex<double>>(broadcast(), partial(ReduceOp::kMax), {1}, {{{1, 2}}, {{1, 2}}}),
               "complex numbers have no order");
  constexpr float kInf = std::numeric_limits<float>::infinity();
  CHECK_EQ(convert<float>(broadcast(), partial(ReduceOp::kMin), {1}, {{3}, {3}})[1][0], kInf);
}

TEST(replicas_are_equal_bit_for_bit) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<float>> before(4, std::vector<float>(1000));
  for (auto& part : before)
    for (float& x : part) x = uniform(random);
  auto after = convert<float>(partial(), broadcast(), {1000}, before);
  for (int i = 1; i < 4; i++) CHECK(after[i] == after[0]);
  for (int i = 0; i < 1000; i++)
    CHECK_EQ(after[0][i], before[0][i] + before[1][i] + before[2][i] + before[3][i]);
}

TEST(two_boxings_in_flight_do_not_mix) {
  comm::set_devices(4);
  LayoutRef from = layout(mesh({4}), {split(0)}), to = layout(mesh({4}), {split(1)});
  auto program = boxing::make_program(plan_boxing(from, to, {4, 4}, 4), DType::kInt32, true);
  std::vector<Ref<comm::Request>> requests;
  std::vector<std::vector<std::vector<int32_t>>> in(3), out(3);
  for (int n = 0; n < 3; n++) {
    boxing::Call call;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    in[n].resize(4);
    for (int32_t rank = 0; rank < 4; rank++) in[n][rank] = {100 * n + rank, 10, 20, 30};
    out[n].assign(4, std::vector<int32_t>(4));
    for (auto& part : in[n]) inputs.push_back(part.data());
    for (auto& part : out[n]) outputs.push_back(part.data());
    call.inputs = inputs;
    call.outputs = outputs;
    requests.push_back(boxing::post(*program, call));
  }
  for (int n = 2; n >= 0; n--) requests[n]->wait();
  for (int32_t n = 0; n < 3; n++)
    CHECK_EQ(out[n][0], (std::vector<int32_t>{100 * n, 100 * n + 1, 100 * n + 2, 100 * n + 3}));
}

TEST(wrong_parts_are_refused) {
  comm::set_devices(2);
  BoxingPlanRef plan = plan_boxing(layout(mesh({2}), {split(0)}), layout(mesh({2}), {broadcast()}), {4}, 4);
  CHECK_THROWS(Error, boxing::post(plan, DType::kFloat32, {}), "of 2 addressable ranks before and of 2");
  CHECK_THROWS(Error, boxing::post(plan, DType::kFloat64, {}), "elements of 4 bytes were planned for");
  BoxingPlanRef far = plan_boxing(layout(mesh({2}), {split(0)}), layout(mesh({3}), {broadcast()}), {4}, 4);
  CHECK_THROWS(Error, boxing::post(far, DType::kFloat32, {}), "there is no rank 2");
}
