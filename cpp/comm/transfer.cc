#include "comm/transfer.h"

#include <algorithm>
#include <cstring>

#include "comm/header.h"

namespace tw::comm {

namespace {

constexpr size_t kSumBytes = 32 << 10;  // freed in steps, so that both sides work at once
const char kZeros[kAlign] = {};

}  // namespace

Transfer::Sum Transfer::sum_to(int place) const {
  Sum sum;
  for (const OutPiece& piece : out_[place].pieces) sum.add(piece.size);
  return sum;
}

Transfer::Sum Transfer::sum_from(int place) const {
  Sum sum;
  for (const InPiece& piece : in_[place].pieces) sum.add(piece.size);
  return sum;
}

bool Transfer::push(int place, Stream& stream) {
  Cursor<OutPiece>& out = out_[place];
  size_t pushed = 0;
  bool moved = false;
  while (out.at < out.pieces.size() && pushed < stream.reach()) {
    const OutPiece& piece = out.pieces[out.at];
    if (!may_go(piece)) break;
    size_t end = padded(piece.size), size = 0, wanted;
    if (out.offset < piece.size) {
      wanted = std::min(piece.size - out.offset, stream.reach());
      size = stream.write(piece.data + out.offset, wanted);
    } else {
      wanted = end - out.offset;
      size = wanted == 0 ? 0 : stream.write(kZeros, wanted);
    }
    out.offset += size;
    pushed += size;
    moved |= size > 0;
    if (out.offset == end) {
      out.at++;
      out.offset = 0;
      moved = true;
    } else if (size < wanted) {
      break;
    }
  }
  if (moved && whole_) take_turns();  // something may be stored now
  return moved;
}

bool Transfer::may_go(const OutPiece& piece) const {
  return piece.needs <= static_cast<int>(piece_) && (piece.from < 0 || piece.after <= in_[piece.from].at);
}

bool Transfer::pull(int place, Stream& stream) {
  Cursor<InPiece>& in = in_[place];
  bool moved = false;
  while (in.at < in.pieces.size()) {
    const InPiece& piece = in.pieces[in.at];
    bool more = false;
    if (in.offset < piece.size) {
      more = piece.to ? pull_copy(in, piece, stream) : pull_sum(place, in, piece, stream);
      if (!more) break;
    }
    if (in.offset < piece.size) {
      moved = true;
      continue;
    }
    size_t padding = padded(piece.size) - in.offset;
    if (padding > 0) {
      if (stream.readable(padding).size() < padding) break;
      stream.consume(padding);
    }
    in.at++;
    in.offset = 0;
    moved = true;
  }
  return moved;
}

bool Transfer::pull_copy(Cursor<InPiece>& in, const InPiece& piece, Stream& stream) {
  size_t size = stream.read(piece.to + in.offset, piece.size - in.offset);
  in.offset += size;
  return size > 0;
}

bool Transfer::pull_sum(int place, Cursor<InPiece>& in, const InPiece& piece, Stream& stream) {
  if (piece.reduced != static_cast<int>(piece_)) return false;
  const ReducedPiece& to = pieces_[piece_];
  const std::vector<int>& sources = *to.sources;
  bool pair = sources.size() == 2;
  if (!pair && sources[turn_] != place) return false;
  std::span<const char> data = stream.readable(static_cast<size_t>(size_));
  size_t size = std::min({data.size(), piece.size - in.offset, kSumBytes});
  if (whole_ && pair && to.output == to.own) {
    const Cursor<OutPiece>& out = out_[place];
    size_t sent = pushed(place) ? piece.size : std::min(out.offset, piece.size);
    size = std::min(size, sent - std::min(sent, in.offset));
  }
  int64_t count = static_cast<int64_t>(size) / size_, first = static_cast<int64_t>(in.offset) / size_;
  if (count == 0) return false;
  if (pair) {
    const void* own = to.own + in.offset;
    const void* theirs = data.data();
    bool first_place = place == sources[0];
    const void* inputs[2] = {first_place ? theirs : own, first_place ? own : theirs};
    reduce(dtype_, reduction_, to.output + in.offset, inputs, count);
  } else if (turn_ == 0) {
    sums_->put(data.data(), first, count);
  } else {
    sums_->add(data.data(), first, count);
  }
  stream.consume(static_cast<size_t>(count * size_));
  in.offset += static_cast<size_t>(count * size_);
  in_turn_ += count;
  if (in_turn_ == to.count) {
    in_turn_ = 0;
    turn_ = pair ? 2 : turn_ + 1;
    take_turns();
  }
  return true;
}

// What this process adds goes in at its turn; when all turns are over the sum is stored and the next piece
// begins.
void Transfer::take_turns() {
  while (piece_ < pieces_.size()) {
    const ReducedPiece& piece = pieces_[piece_];
    int sources = static_cast<int>(piece.sources->size());
    bool pair = sources == 2;
    if (piece.count > 0 && pair && turn_ < 2) return;
    if (piece.count > 0 && !pair) {
      if (turn_ < sources && (*piece.sources)[turn_] == circle_.self) {
        if (turn_ == 0)
          sums_->put(piece.own, 0, piece.count);
        else
          sums_->add(piece.own, 0, piece.count);
        turn_++;
      }
      if (turn_ < sources || !may_store()) return;
      sums_->store(piece.output, piece.count);
    }
    piece_++;
    turn_ = 0;
  }
}

bool Transfer::may_store() const {
  if (!whole_) return true;
  for (int place = 0; place < circle_.size(); place++)
    if (!pushed(place)) return false;
  return true;
}

bool Transfer::complete() const {
  if (piece_ < pieces_.size()) return false;
  for (int place = 0; place < circle_.size(); place++)
    if (!pushed(place) || !pulled(place)) return false;
  return true;
}

void Transfer::finish() {
  for (auto [to, from] : last_copies_)
    if (to != from && to && last_bytes_ > 0) std::memcpy(to, from, last_bytes_);
}

}  // namespace tw::comm
