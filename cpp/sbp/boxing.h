// Boxing: what it takes to turn a tensor that lies as one layout says into the same tensor in another layout.
//
// Total: any two layouts, on the same, overlapping or disjoint ranks, of any number of axes, uneven or empty.
// The whole is cut into the rectangles that some device holds before and some device wants after (boxing.cc);
// for each of them the senders, the devices that reduce and the receivers are chosen (boxing_pieces.cc), for
// several ways of grouping the devices, of which the cheapest is the plan.
//
// Bytes: without P nothing moves but what a destination lacks. Pending contributions of k devices that d
// devices want reduced cost k + d - 2 times the elements where one of the d is one of the k, else k + d - 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "sbp/layout.h"

namespace tw::sbp {

using Ranks = SmallVector<int64_t, 4>;

// The speed of the links between devices, which decides among plans.
struct LinkModel {
  const std::vector<int>* hosts = nullptr;  // of each rank; lives as long as the process. Null: all share one
  double host_bytes_per_second = 10e9;      // between two devices of one host, each way
  double network_bytes_per_second = 2e9;    // of a device to another host
  double host_seconds = 1e-6;               // of a message
  double network_seconds = 10e-6;
  // A collective has tuned ways that an exchange of rectangles lacks: it is kept unless this much slower.
  double collective_advantage = 1.25;

  // All-reduces up to so many bytes go whole from everybody to everybody.
  int64_t whole_bytes = 16 << 10;

  int host_of(int64_t rank) const { return hosts && rank < std::ssize(*hosts) ? (*hosts)[rank] : 0; }
  bool same_host(int64_t a, int64_t b) const { return host_of(a) == host_of(b); }
  friend bool operator==(const LinkModel&, const LinkModel&) = default;
};

// The last `count` contributions of each run are folded by `op` first: {{sum, 2}, {max, 3}} is the sum of two
// maxima of three.
struct Fold {
  ReduceOp op = ReduceOp::kSum;
  int64_t count = 1;
  friend bool operator==(const Fold&, const Fold&) = default;
};

// A rectangle of the whole on its way: the contributions of `sources` are sent to the rank `at`, folded there
// in their order, and the result is sent to `targets`. One source: a copy, `at` is the source. No source: the
// targets get what is neutral in `fill`.
struct Piece {
  Box box;
  Ranks sources;
  Ranks targets;
  int64_t at = 0;
  SmallVector<Fold, 2> folds;  // outermost first; empty unless there are several sources
  ReduceOp fill = ReduceOp::kSum;
};

enum class StepKind : uint8_t {
  kNothing,  // what the devices hold stays
  kLocal,    // each device cuts or fills what it has
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kAllToAll,
  kReduce,    // rectangles are sent to where they are folded
  kExchange,  // rectangles are sent to where they are wanted
};
const char* name_of(StepKind kind);

struct Step {
  StepKind kind = StepKind::kNothing;
  std::vector<int64_t>
      axes;  // of the placement, for local steps and collectives; groups differ in these alone
  std::vector<int64_t> sent;  // bytes that each of BoxingPlan::ranks sends
  int64_t bytes = 0;          // in all
  int64_t far_bytes = 0;      // of them, between machines
  bool two_level = false;     // a collective that goes within machines first (boxing_levels.h)
};

class BoxingPlan final : public RefCounted {
 public:
  LayoutRef from, to;
  Dims sizes;
  int64_t element_bytes = 1;
  std::vector<int64_t> ranks;  // of both placements: those of `from`, then others
  std::vector<Piece> pieces;   // disjoint in each target; together all that the targets hold
  std::vector<Step> steps;     // at least one
  int64_t bytes = 0;           // sent in all
  double seconds = 0;          // by the model

  // Nothing has to be copied: every device of `to` already holds what it is to hold, where it is.
  bool is_nothing() const { return steps.front().kind == StepKind::kNothing; }
};
using BoxingPlanRef = Ref<const BoxingPlan>;

// Throws kPlacement when a layout does not fit the sizes. Plans are kept: asking again for one of the latest
// is a look-up. Safe to use from any thread. The plan of a given question is the same on every rank.
BoxingPlanRef plan_boxing(const LayoutRef& from, const LayoutRef& to, const Dims& sizes,
                          int64_t element_bytes, const LinkModel& model = {});

// The steps with their bytes, a line each.
std::string explain(const BoxingPlan& plan);

}  // namespace tw::sbp
