// Which pieces a call sends and receives.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "comm/transfer_levels.h"

namespace tw::comm {

namespace {

constexpr int64_t kSmallBytes = 16 << 10;  // up to here an all-reduce goes whole to everybody
constexpr int64_t kPieceBytes = 64 << 10;  // of sums

char* output_of(const Call& call, int local) { return static_cast<char*>(call.parts[local].output); }
const char* input_of(const Call& call, int local) {
  return static_cast<const char*>(call.parts[local].input);
}

int64_t offset_of(const Call& call, int member) {
  int64_t offset = 0;
  for (int m = 0; m < member; m++) offset += call.count_of(m);
  return offset;
}

int64_t sum_of(std::span<const int64_t> counts, int end) {
  int64_t sum = 0;
  for (int m = 0; m < end; m++) sum += counts[m];
  return sum;
}

}  // namespace

Transfer::Transfer(const Call& call, const Circle& circle)
    : circle_(circle),
      dtype_(call.dtype),
      reduction_(call.reduction),
      size_(size_of(call.dtype)),
      out_(circle.size()),
      in_(circle.size()) {
  sources_.emplace_back(circle.size());
  std::iota(sources_[0].begin(), sources_[0].end(), 0);
  build(call);
  int64_t longest = 0;
  for (const ReducedPiece& piece : pieces_)
    if (piece.sources->size() != 2) longest = std::max(longest, piece.count);
  if (longest > 0) sums_.emplace(dtype_, reduction_, longest);
  take_turns();
}

void Transfer::build(const Call& call) {
  switch (call.kind) {
    case CallKind::kAllReduce:
      return all_reduce(call);
    case CallKind::kReduceScatter:
      return reduce_parts(call);
    case CallKind::kReduce:
      return reduce_to_root(call);
    case CallKind::kAllGather:
      return gather(call, -1);
    case CallKind::kGather:
      return gather(call, call.root);
    case CallKind::kScatter:
      return scatter(call);
    case CallKind::kBroadcast:
      return broadcast(call);
    case CallKind::kAllToAll:
      return all_to_all(call);
    case CallKind::kBarrier:
      return;
  }
}

bool Transfer::in_levels(const Call& call, int64_t count) const {
  std::vector<int> hosts = circle_.hosts;
  std::ranges::sort(hosts);
  size_t different = static_cast<size_t>(std::ranges::unique(hosts).begin() - hosts.begin());
  if (different == 1 || different == circle_.hosts.size() || call.levels == comm::Levels::kOne) return false;
  return call.levels == comm::Levels::kTwo || count * size_ > kSmallBytes;
}

int Transfer::local_place(int member) const {
  const std::vector<int>& mine = circle_.members[circle_.self];
  auto found = std::find(mine.begin(), mine.end(), member);
  return found == mine.end() ? -1 : static_cast<int>(found - mine.begin());
}

int Transfer::place_of(int member) const {
  for (int place = 0;; place++) {
    const std::vector<int>& members = circle_.members[place];
    if (std::find(members.begin(), members.end(), member) != members.end()) return place;
  }
}

void Transfer::send(int place, const char* data, int64_t count, int needs) {
  out_[place].pieces.push_back({data, static_cast<size_t>(count * size_), needs});
  moved_ += count * size_;
  if (circle_.hosts[place] != circle_.hosts[circle_.self]) far_ += count * size_;
}

void Transfer::forward(int place, int from, const char* data, int64_t count) {
  send(place, data, count);
  out_[place].pieces.back().from = from;
  out_[place].pieces.back().after = in_[from].pieces.size();
}

void Transfer::receive(int place, char* to, int64_t count, int reduced) {
  in_[place].pieces.push_back({to, static_cast<size_t>(count * size_), reduced});
}

void Transfer::move(char* to, const char* from, int64_t count) {
  if (to && to != from && count > 0) std::memcpy(to, from, static_cast<size_t>(count * size_));
}

// What this process adds: its one input, or the reduction of all, in `into` or in memory of our own.
const char* Transfer::local_sum(const Call& call, int64_t count, char* into) {
  if (call.parts.size() == 1) return input_of(call, 0);
  if (!into) {
    scratch_.resize(static_cast<size_t>(count * size_));
    into = scratch_.data();
  }
  SmallVector<const void*, 16> inputs;
  for (const Part& part : call.parts) inputs.push_back(part.input);
  reduce(dtype_, reduction_, into, {inputs.data(), inputs.size()}, count);
  moved_ += static_cast<int64_t>(call.parts.size() - 1) * count * size_;
  return into;
}

void Transfer::all_reduce(const Call& call) {
  int processes = circle_.size(), self = circle_.self;
  char* output = output_of(call, 0);
  const char* own = local_sum(call, call.count, output);
  for (size_t local = 1; local < call.parts.size(); local++) {
    last_copies_.push_back({output_of(call, static_cast<int>(local)), output});
    moved_ += call.count * size_;
  }
  last_bytes_ = static_cast<size_t>(call.count * size_);
  if (in_levels(call, call.count)) return TwoLevels(*this).all_reduce(output, own, call.count);
  if (processes > 2 && call.count * size_ > kSmallBytes) return all_reduce_in_pieces(output, own, call.count);
  whole_ = true;
  pieces_.push_back({output, own, call.count, &sources_[0]});
  for (int place = 0; place < processes; place++) {
    if (place == self) continue;
    send(place, own, call.count);
    receive(place, nullptr, call.count, 0);
  }
}

void Transfer::all_reduce_in_pieces(char* output, const char* own, int64_t count) {
  int processes = circle_.size(), self = circle_.self;
  int64_t step = processes * (kPieceBytes / size_), chunks = (count + step - 1) / step;
  auto first = [&](int64_t chunk, int place) {
    int64_t size = std::min(step, count - chunk * step);
    return chunk * step + size * place / processes;
  };
  auto size = [&](int64_t chunk, int place) { return first(chunk, place + 1) - first(chunk, place); };
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    int64_t begin = first(chunk, self) * size_;
    pieces_.push_back({output + begin, own + begin, size(chunk, self), &sources_[0]});
  }
  for (int place = 0; place < processes; place++) {
    if (place == self) continue;
    for (int64_t chunk = 0; chunk <= chunks; chunk++) {
      if (chunk < chunks) {
        send(place, own + first(chunk, place) * size_, size(chunk, place));
        receive(place, nullptr, size(chunk, self), static_cast<int>(chunk));
      }
      if (chunk > 0) {
        send(place, output + first(chunk - 1, self) * size_, size(chunk - 1, self), static_cast<int>(chunk));
        receive(place, output + first(chunk - 1, place) * size_, size(chunk - 1, place));
      }
    }
  }
}

void Transfer::reduce_parts(const Call& call) {
  size_t members = 0;
  for (const std::vector<int>& list : circle_.members) members += list.size();
  int64_t total = offset_of(call, static_cast<int>(members));
  const char* own = local_sum(call, total, nullptr);
  int64_t step = kPieceBytes / size_;
  if (in_levels(call, total)) {
    std::vector<TwoLevels::Part> parts;
    for (int member = 0; member < static_cast<int>(members); member++) {
      int place = place_of(member);
      char* output = place == circle_.self ? output_of(call, local_place(member)) : nullptr;
      parts.push_back({place, offset_of(call, member), call.count_of(member), output});
    }
    return TwoLevels(*this).reduce(parts, own);
  }
  for (int place = 0; place < circle_.size(); place++) {
    for (int member : circle_.members[place]) {
      int64_t offset = offset_of(call, member), count = call.count_of(member);
      for (int64_t i = 0; i < count; i += step) {
        int64_t n = std::min(step, count - i);
        if (place != circle_.self) {
          send(place, own + (offset + i) * size_, n);
          continue;
        }
        for (int other = 0; other < circle_.size(); other++)
          if (other != place) receive(other, nullptr, n, static_cast<int>(pieces_.size()));
        pieces_.push_back(
            {output_of(call, local_place(member)) + i * size_, own + (offset + i) * size_, n, &sources_[0]});
      }
    }
  }
}

void Transfer::reduce_to_root(const Call& call) {
  const char* own = local_sum(call, call.count, nullptr);
  int root = place_of(call.root);
  int64_t step = kPieceBytes / size_;
  if (in_levels(call, call.count)) {
    char* output = root == circle_.self ? output_of(call, local_place(call.root)) : nullptr;
    return TwoLevels(*this).reduce({{root, 0, call.count, output}}, own);
  }
  for (int64_t i = 0; i < call.count; i += step) {
    int64_t n = std::min(step, call.count - i);
    if (root != circle_.self) {
      send(root, own + i * size_, n);
      continue;
    }
    for (int other = 0; other < circle_.size(); other++)
      if (other != root) receive(other, nullptr, n, static_cast<int>(pieces_.size()));
    pieces_.push_back(
        {output_of(call, local_place(call.root)) + i * size_, own + i * size_, n, &sources_[0]});
  }
}

void Transfer::gather(const Call& call, int root) {
  bool here = root < 0 || place_of(root) == circle_.self;
  char* output = here ? output_of(call, root < 0 ? 0 : local_place(root)) : nullptr;
  int members = 0;
  for (const std::vector<int>& list : circle_.members) members += static_cast<int>(list.size());
  bool levels = root < 0 && in_levels(call, offset_of(call, members));
  std::vector<TwoLevels::Part> parts;
  for (int place = 0; place < circle_.size(); place++) {
    for (int member : circle_.members[place]) {
      char* to = here ? output + offset_of(call, member) * size_ : nullptr;
      parts.push_back({place, offset_of(call, member), call.count_of(member), to});
      if (place != circle_.self) {
        if (here && !levels) receive(place, to, call.count_of(member));
        continue;
      }
      const char* from = input_of(call, local_place(member));
      move(to, from, call.count_of(member));
      for (int other = 0; other < circle_.size() && !levels; other++)
        if (other != place && (root < 0 || place_of(root) == other)) send(other, from, call.count_of(member));
    }
  }
  if (levels) TwoLevels(*this).deliver(parts, output);
  if (root >= 0) return;
  last_bytes_ = static_cast<size_t>(offset_of(call, members) * size_);
  for (size_t local = 1; local < call.parts.size(); local++) {
    last_copies_.push_back({output_of(call, static_cast<int>(local)), output});
    moved_ += static_cast<int64_t>(last_bytes_);
  }
}

void Transfer::scatter(const Call& call) {
  int root = place_of(call.root);
  bool here = root == circle_.self;
  const char* input = here ? input_of(call, local_place(call.root)) : nullptr;
  for (int place = 0; place < circle_.size(); place++) {
    for (int member : circle_.members[place]) {
      int64_t count = call.count_of(member);
      const char* from = here ? input + offset_of(call, member) * size_ : nullptr;
      if (place == circle_.self && here)
        move(output_of(call, local_place(member)), from, count);
      else if (here)
        send(place, from, count);
      else if (place == circle_.self)
        receive(root, output_of(call, local_place(member)), count);
    }
  }
}

void Transfer::broadcast(const Call& call) {
  int root = place_of(call.root);
  bool levels = in_levels(call, call.count);
  if (root == circle_.self) {
    const char* input = input_of(call, local_place(call.root));
    if (levels) TwoLevels(*this).deliver({{root, 0, call.count, const_cast<char*>(input)}}, nullptr);
    for (int place = 0; place < circle_.size() && !levels; place++)
      if (place != root) send(place, input, call.count);
    for (size_t local = 0; local < call.parts.size(); local++)
      move(output_of(call, static_cast<int>(local)), input, call.count);
    return;
  }
  char* output = output_of(call, 0);
  if (levels)
    TwoLevels(*this).deliver({{root, 0, call.count, nullptr}}, output);
  else
    receive(root, output, call.count);
  last_bytes_ = static_cast<size_t>(call.count * size_);
  for (size_t local = 1; local < call.parts.size(); local++) {
    last_copies_.push_back({output_of(call, static_cast<int>(local)), output});
    moved_ += call.count * size_;
  }
}

void Transfer::all_to_all(const Call& call) {
  const std::vector<int>& mine = circle_.members[circle_.self];
  for (int from = 0; from < static_cast<int>(mine.size()); from++) {
    const Part& part = call.parts[from];
    for (int place = 0; place < circle_.size(); place++) {
      for (int member : circle_.members[place]) {
        const char* data = input_of(call, from) + sum_of(part.send_counts, member) * size_;
        int64_t count = part.send_counts[member];
        if (place != circle_.self) {
          send(place, data, count);
          continue;
        }
        int to = local_place(member);
        std::span<const int64_t> wanted = call.parts[to].receive_counts;
        TW_CHECK(wanted[mine[from]] == count, kValue, "all_to_all: member ", mine[from], " sends ", count,
                 " elements to member ", member, ", which wants ", wanted[mine[from]]);
        move(output_of(call, to) + sum_of(wanted, mine[from]) * size_, data, count);
      }
    }
  }
  for (int place = 0; place < circle_.size(); place++) {
    if (place == circle_.self) continue;
    for (int member : circle_.members[place])
      for (int to = 0; to < static_cast<int>(mine.size()); to++) {
        std::span<const int64_t> counts = call.parts[to].receive_counts;
        receive(place, output_of(call, to) + sum_of(counts, member) * size_, counts[member]);
      }
  }
}

}  // namespace tw::comm
