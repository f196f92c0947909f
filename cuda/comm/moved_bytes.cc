// With p members and T elements: all_reduce 2 (p - 1) T, reduce and broadcast (p - 1) T, reduce_scatter and
// all_gather (p - 1) of each part. Counted is what a member gets, but of all_reduce, which is shared out, and
// of reduce, gather and all_to_all, where it is what a member gives.
#include "cuda/comm/moved_bytes.h"

namespace tw::cuda {

namespace {

using comm::Call;
using comm::CallKind;

int64_t total(const Call& call, int size) {
  int64_t sum = 0;
  for (int m = 0; m < size; m++) sum += call.count_of(m);
  return sum;
}

int64_t moved_elements(const Call& call, const comm::Part& part, int member, int size) {
  const bool root = member == call.root;
  switch (call.kind) {
    case CallKind::kReduce:
    case CallKind::kBroadcast:
      return root ? 0 : call.count;
    case CallKind::kReduceScatter:
      return (size - 1) * call.count_of(member);
    case CallKind::kAllGather:
      return total(call, size) - call.count_of(member);
    case CallKind::kGather:
    case CallKind::kScatter:
      return root ? 0 : call.count_of(member);
    case CallKind::kAllToAll: {
      int64_t sent = 0;
      for (int m = 0; m < size; m++) sent += m == member ? 0 : part.send_counts[m];
      return sent;
    }
    default:
      return 0;
  }
}

}  // namespace

int64_t moved_bytes(const Call& call, const comm::Group& group) {
  const int size = group.size();
  const auto here = static_cast<int64_t>(group.members().size());
  if (call.kind == CallKind::kAllReduce)
    return 2 * (size - 1) * call.count * size_of(call.dtype) * here / size;
  int64_t elements = 0;
  for (size_t k = 0; k < call.parts.size(); k++)
    elements += moved_elements(call, call.parts[k], group.members()[k], size);
  return elements * size_of(call.dtype);
}

}  // namespace tw::cuda
