#include "comm/process_call.h"

#include <cstring>

#include "base/clock.h"

namespace tw::comm {

namespace {

constexpr int64_t kMismatchNs = 1'000'000'000;  // how long the calls of others are waited for

// Of the memory of a call, what this group moves.
const Call& moved_here(const Call& call) {
  static const Call nothing;
  return call.elsewhere ? nothing : call;
}

// Bytes that the members of this process send to, or want from, those at a place in an all-to-all.
uint64_t exchanged(const Call& call, const std::vector<int>& members, bool wanted) {
  int64_t count = 0;
  for (const Part& part : call.parts)
    for (int member : members) count += (wanted ? part.receive_counts : part.send_counts)[member];
  return static_cast<uint64_t>(count * size_of(call.dtype));
}

}  // namespace

ProcessCall::ProcessCall(const Call& call, const Circle& circle, const CallHeader& header)
    : keep(call.keep),
      circle_(circle),
      transfer_(moved_here(call), circle),
      header_(header),
      peers_(circle.size()) {
  bool exchanges = call.elsewhere && call.kind == CallKind::kAllToAll;
  for (int place = 0; place < circle.size(); place++) {
    peers_[place].header = header;
    Transfer::Sum sum = transfer_.sum_to(place);
    peers_[place].header.payload = exchanges ? exchanged(call, circle.members[place], false) : sum.bytes;
    peers_[place].header.pieces = sum.pieces;
    sum = transfer_.sum_from(place);
    peers_[place].header.wanted = exchanges ? exchanged(call, circle.members[place], true) : sum.bytes;
    peers_[place].header.wanted_pieces = sum.pieces;
  }
  peers_[circle.self].received = peers_[circle.self].sent = sizeof(CallHeader);
  peers_[circle.self].flushed = true;
  peers_[circle.self].theirs = header;
}

bool ProcessCall::advance(const Links& links) {
  bool any = false;
  for (bool moved = true; moved;) {
    moved = false;
    for (int place = 0; place < circle_.size(); place++) {
      if (!links[place]) continue;
      Stream& stream = links[place]->calls();
      moved |= push_header(place, stream);
      moved |= pull_header(place, stream);
      if (mismatch_since_ != 0) continue;
      const PeerState& peer = peers_[place];
      if (peer.sent == sizeof(CallHeader)) moved |= transfer_.push(place, stream);
      if (peer.received == sizeof(CallHeader)) moved |= transfer_.pull(place, stream);
    }
    any |= moved;
  }
  for (int place = 0; place < circle_.size(); place++)
    if (links[place]) peers_[place].flushed = links[place]->calls().flush();
  return any;
}

bool ProcessCall::push_header(int place, Stream& stream) {
  PeerState& peer = peers_[place];
  if (peer.sent == sizeof(CallHeader)) return false;
  const char* bytes = reinterpret_cast<const char*>(&peer.header);
  size_t written = stream.write(bytes + peer.sent, sizeof(CallHeader) - peer.sent);
  peer.sent += written;
  return written > 0;
}

bool ProcessCall::pull_header(int place, Stream& stream) {
  PeerState& peer = peers_[place];
  if (peer.received == sizeof(CallHeader)) return false;
  std::span<const char> data = stream.readable(sizeof(CallHeader));
  if (data.size() < sizeof(CallHeader)) return false;
  std::memcpy(&peer.theirs, data.data(), sizeof(CallHeader));
  stream.consume(sizeof(CallHeader));
  peer.received = sizeof(CallHeader);
  Transfer::Sum theirs{peer.theirs.payload, peer.theirs.pieces};
  Transfer::Sum wanted{peer.theirs.wanted, peer.theirs.wanted_pieces};
  Transfer::Sum expected{peer.header.wanted, peer.header.wanted_pieces};
  Transfer::Sum given{peer.header.payload, peer.header.pieces};
  bool fits = peer.theirs.fits(header_) && theirs == expected && wanted == given;
  if (!fits && mismatch_since_ == 0) mismatch_since_ = now_ns();
  return true;
}

bool ProcessCall::complete() const {
  if (mismatch_since_ != 0 || !transfer_.complete()) return false;
  for (const PeerState& peer : peers_)
    if (peer.sent < sizeof(CallHeader) || peer.received < sizeof(CallHeader) || !peer.flushed) return false;
  return true;
}

bool ProcessCall::mismatch() const {
  if (mismatch_since_ == 0) return false;
  if (now_ns() - mismatch_since_ > kMismatchNs) return true;
  for (const PeerState& peer : peers_)
    if (peer.sent < sizeof(CallHeader) || peer.received < sizeof(CallHeader)) return false;
  return true;
}

std::string ProcessCall::mismatch_text(const std::string& group) const {
  std::string text =
      cat(name_of(header_.kind), ": the ranks of ", group, " made calls that do not fit together");
  bool same = true;
  for (int place = 0; place < circle_.size(); place++) {
    const PeerState& peer = peers_[place];
    if (peer.received < sizeof(CallHeader)) {
      text += cat("; process ", circle_.processes[place], ": none yet");
      continue;
    }
    text += cat("; rank ", peer.theirs.rank, ": ", peer.theirs.text());
    same &= peer.theirs.fits(header_);
  }
  for (int place = 0; same && place < circle_.size(); place++) {
    const PeerState& peer = peers_[place];
    if (place == circle_.self) continue;
    auto tell = [&](int from, uint64_t sent, int to, uint64_t wanted) {
      if (sent == wanted) return;
      text += cat("; rank ", from, " sends ", sent, " bytes to rank ", to, ", which wants ", wanted);
    };
    tell(peer.theirs.rank, peer.theirs.payload, header_.rank, peer.header.wanted);
    tell(header_.rank, peer.header.payload, peer.theirs.rank, peer.theirs.wanted);
  }
  return text;
}

bool ProcessCall::waits_for(int place) const {
  const PeerState& peer = peers_[place];
  return peer.sent < sizeof(CallHeader) || peer.received < sizeof(CallHeader) || !peer.flushed ||
         !transfer_.pushed(place) || !transfer_.pulled(place);
}

}  // namespace tw::comm
