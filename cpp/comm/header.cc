#include "comm/header.h"

#include <algorithm>

namespace tw::comm {

namespace {

bool reduces(CallKind kind) {
  return kind == CallKind::kAllReduce || kind == CallKind::kReduce || kind == CallKind::kReduceScatter;
}
bool has_root(CallKind kind) {
  return kind == CallKind::kReduce || kind == CallKind::kBroadcast || kind == CallKind::kGather ||
         kind == CallKind::kScatter;
}

}  // namespace

CallHeader header_of(const Call& call, const Group& group, uint64_t number) {
  CallHeader header;
  header.number = number;
  header.rank = group.ranks()[group.members()[0]];
  header.kind = call.kind;
  if (call.kind != CallKind::kBarrier) header.dtype = call.dtype;
  if (reduces(call.kind)) header.reduction = call.reduction;
  if (has_root(call.kind)) header.root = group.ranks()[call.root];
  header.count = call.counts.empty() ? call.count : 0;
  header.counts = 14695981039346656037u;
  for (int64_t count : call.counts)
    header.counts = (header.counts ^ static_cast<uint64_t>(count)) * 1099511628211u;
  header.dims = static_cast<uint8_t>(std::min<size_t>(call.shape.size(), 8));
  std::copy_n(call.shape.begin(), header.dims, header.sizes);
  // The end of a long path says most.
  std::string_view origin = call.origin;
  if (origin.size() >= sizeof(header.origin)) origin.remove_prefix(origin.size() - sizeof(header.origin) + 1);
  std::copy(origin.begin(), origin.end(), header.origin);
  return header;
}

bool CallHeader::fits(const CallHeader& other) const {
  bool shapes =
      dims == 0 || other.dims == 0 || (dims == other.dims && std::equal(sizes, sizes + dims, other.sizes));
  return number == other.number && kind == other.kind && dtype == other.dtype &&
         reduction == other.reduction && root == other.root && count == other.count &&
         counts == other.counts && shapes;
}

std::string CallHeader::text() const {
  std::string text = name_of(kind);
  if (kind != CallKind::kBarrier) {
    text += cat(" of ", dtype);
    if (dims > 0)
      text += cat(" ", Dims(sizes, sizes + dims));
    else if (kind != CallKind::kAllToAll)
      text += cat(", ", count, " elements");
  }
  if (reduces(kind)) text += cat(" (", name_of(reduction), ")");
  if (has_root(kind)) text += cat(" with root ", root);
  if (origin[0]) text += cat(" at ", std::string(origin));
  return text;
}

}  // namespace tw::comm
