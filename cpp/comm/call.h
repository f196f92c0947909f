// What a collective call is to do: the kind, the memory of every addressable member, and who called it where.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/intrusive.h"

namespace tw::comm {

enum class Reduction : uint8_t { kSum, kProd, kMin, kMax };

// With p members and T = `count` elements; "its part" are `counts[m]` elements of member m, which follow one
// another in the order of members.
enum class CallKind : uint8_t {
  kAllReduce,      // input T → output T: the reduction, equal on all members bit for bit
  kReduce,         // input T → output T at the root
  kBroadcast,      // input T at the root → output T
  kReduceScatter,  // input: all parts → output: its part of the reduction
  kAllGather,      // input: its part → output: all parts
  kGather,         // input: its part → output: all parts, at the root
  kScatter,        // input: all parts, at the root → output: its part
  kAllToAll,       // input: `send_counts` elements for each member → output: `receive_counts` from each
  kBarrier,        // no memory: complete when all members have posted it
};
const char* name_of(CallKind kind);  // "all_reduce"
const char* name_of(Reduction reduction);

// The memory of one addressable member; what a call does not use at a member may be null. An output may be
// the input itself, or for kAllGather and kGather hold the input at its place; for kReduceScatter and
// kScatter it may be its part of the input. Otherwise they must not overlap.
struct Part {
  const void* input = nullptr;
  void* output = nullptr;
  // Elements for and from each member, of kAllToAll alone.
  std::span<const int64_t> send_counts = {}, receive_counts = {};
  // Of kAllToAll on accelerators, in place of input and output: where the elements for and from each member
  // lie.
  std::span<const void* const> send_from = {};
  std::span<void* const> receive_to = {};
};

// Whether a call between machines goes in two levels (transfer_levels.h): kAuto unless it is small.
enum class Levels : uint8_t { kAuto, kOne, kTwo };

struct Call {
  CallKind kind = CallKind::kBarrier;
  DType dtype = DType::kFloat32;
  std::span<const Part> parts = {};      // one for every addressable member, in the order of Group::members()
  int64_t count = 0;                     // T; or every part's elements where `counts` is empty
  std::span<const int64_t> counts = {};  // of each member; empty: `count` for all
  Reduction reduction = Reduction::kSum;
  int root = 0;                   // a member
  Levels levels = Levels::kAuto;  // equal on all members
  bool elsewhere = false;         // the memory moves by other means: members tell each other what they call
  Dims shape = {};                // told to the other members and compared with theirs; empty says nothing
  std::string_view origin = {};   // the user's line, told to others when calls do not fit: "train.py:12"
  // What owns the memory; kept until the request is complete or has failed.
  SmallVector<Ref<RefCounted>, 4> keep = {};

  int64_t count_of(int member) const { return counts.empty() ? count : counts[member]; }
};

// A message from one member to another, of which one at least is addressable. Messages of one tag between the
// same two members arrive in the order in which they were sent.
struct Message {
  int from = 0, to = 0;
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kFloat32;
  int64_t tag = 0;
  std::string_view origin = {};
  SmallVector<Ref<RefCounted>, 4> keep = {};
};

}  // namespace tw::comm
