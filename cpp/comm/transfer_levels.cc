#include "comm/transfer_levels.h"

#include <algorithm>
#include <map>

namespace tw::comm {

namespace {

constexpr int64_t kPieceBytes = 64 << 10;

}  // namespace

Transfer::TwoLevels::TwoLevels(Transfer& transfer) : t_(transfer), size_(transfer.size_) {
  std::map<int, size_t> numbers;
  for (int place = 0; place < t_.circle_.size(); place++) {
    size_t host = numbers.try_emplace(t_.circle_.hosts[place], numbers.size()).first->second;
    if (host == hosts_.size()) hosts_.emplace_back();
    host_of_.push_back(host);
    local_of_.push_back(static_cast<int>(hosts_[host].size()));
    hosts_[host].push_back(place);
  }
  host_ = host_of_[t_.circle_.self];
  local_ = local_of_[t_.circle_.self];
  auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  lanes_ = static_cast<int>(std::ranges::min_element(hosts_, fewer)->size());
}

int Transfer::TwoLevels::relay(size_t host, int place) const {
  return hosts_[host][static_cast<size_t>(local_of_[place]) % hosts_[host].size()];
}

Transfer::TwoLevels::Range Transfer::TwoLevels::segment(int lane) const {
  int64_t first = chunk_.count * lane / lanes_, end = chunk_.count * (lane + 1) / lanes_;
  return {chunk_.first + first, end - first};
}

Transfer::TwoLevels::Range Transfer::TwoLevels::share(int lane, size_t host) const {
  Range all = segment(lane);
  int64_t hosts = static_cast<int64_t>(hosts_.size()), h = static_cast<int64_t>(host);
  int64_t first = all.count * h / hosts, end = all.count * (h + 1) / hosts;
  return {all.first + first, end - first};
}

void Transfer::TwoLevels::all_reduce(char* output, const char* own, int64_t count) {
  t_.sources_.push_back(hosts_[host_]);
  std::vector<int>& lanes = t_.sources_.emplace_back();
  if (local_ < lanes_)
    for (const std::vector<int>& places : hosts_) lanes.push_back(places[local_]);
  int64_t step = lanes_ * static_cast<int64_t>(hosts_.size()) * (kPieceBytes / size_);
  int64_t chunks = (count + step - 1) / step;
  std::vector<int> sums_here, sums;  // how many pieces are reduced when those of a chunk are
  auto begin = [&](int64_t chunk) { chunk_ = {chunk * step, std::min(step, count - chunk * step)}; };
  for (int64_t turn = 0; turn < chunks + 2; turn++) {
    if (turn < chunks) {
      begin(turn);
      add_host_sum(output, own);
      sums_here.push_back(static_cast<int>(t_.pieces_.size()));
    }
    if (turn >= 1 && turn <= chunks) {
      begin(turn - 1);
      add_sum(output, places_here() > 1 ? output : own, sums_here[turn - 1]);
      sums.push_back(static_cast<int>(t_.pieces_.size()));
    }
    if (turn >= 2) {
      begin(turn - 2);
      add_results(output, sums[turn - 2]);
    }
  }
}

void Transfer::TwoLevels::add_host_sum(char* output, const char* own) {
  bool mine = local_ < lanes_ && places_here() > 1;
  for (int place : hosts_[host_]) {
    if (place == t_.circle_.self) continue;
    if (int lane = local_of_[place]; lane < lanes_)
      t_.send(place, own + segment(lane).first * size_, segment(lane).count);
    if (mine) t_.receive(place, nullptr, segment(local_).count, static_cast<int>(t_.pieces_.size()));
  }
  if (!mine) return;
  int64_t begin = segment(local_).first * size_;
  t_.pieces_.push_back({output + begin, own + begin, segment(local_).count, &t_.sources_[1]});
}

void Transfer::TwoLevels::add_sum(char* output, const char* from, int needs) {
  if (local_ >= lanes_) return;
  Range mine = share(local_, host_);
  for (size_t host = 0; host < hosts_.size(); host++) {
    if (host == host_) continue;
    int place = hosts_[host][local_];
    t_.send(place, from + share(local_, host).first * size_, share(local_, host).count, needs);
    t_.receive(place, nullptr, mine.count, static_cast<int>(t_.pieces_.size()));
  }
  t_.pieces_.push_back({output + mine.first * size_, from + mine.first * size_, mine.count, &t_.sources_[2]});
}

void Transfer::TwoLevels::add_results(char* output, int needs) {
  auto at = [&](Range range) { return output + range.first * size_; };
  Range mine = share(local_, host_);
  for (size_t host = 0; host < hosts_.size() && local_ < lanes_; host++) {
    if (host == host_) continue;
    t_.send(hosts_[host][local_], at(mine), mine.count, needs);
    t_.receive(hosts_[host][local_], at(share(local_, host)), share(local_, host).count);
  }
  for (int place : hosts_[host_]) {
    if (place == t_.circle_.self) continue;
    for (size_t host = 0; host < hosts_.size(); host++) {
      if (int lane = local_of_[place]; lane < lanes_)
        t_.receive(place, at(share(lane, host)), share(lane, host).count);
      if (local_ >= lanes_) continue;
      if (host == host_)
        t_.send(place, at(mine), mine.count, needs);
      else
        t_.forward(place, hosts_[host][local_], at(share(local_, host)), share(local_, host).count);
    }
  }
}

void Transfer::TwoLevels::deliver(const std::vector<Part>& parts, char* output) {
  int64_t step = kPieceBytes / size_, longest = 0;
  for (const Part& part : parts) longest = std::max(longest, part.count);
  for (int64_t first = 0; first < longest; first += step)
    for (const Part& part : parts)
      if (first < part.count) deliver_piece(part, first, std::min(step, part.count - first), output);
}

void Transfer::TwoLevels::deliver_piece(const Part& part, int64_t first, int64_t count, char* output) {
  char* to = output + (part.offset + first) * size_;
  auto here = [&](auto hand_on) {
    for (int place : hosts_[host_])
      if (place != t_.circle_.self) hand_on(place);
  };
  if (part.place == t_.circle_.self) {
    const char* from = part.memory + first * size_;
    here([&](int place) { t_.send(place, from, count); });
    for (size_t host = 0; host < hosts_.size(); host++)
      if (host != host_) t_.send(relay(host, part.place), from, count);
  } else if (host_of_[part.place] == host_) {
    t_.receive(part.place, to, count);
  } else if (int between = relay(host_, part.place); between != t_.circle_.self) {
    t_.receive(between, to, count);
  } else {
    t_.receive(part.place, to, count);
    here([&](int place) { t_.forward(place, part.place, to, count); });
  }
}

void Transfer::TwoLevels::reduce(const std::vector<Part>& parts, const char* own) {
  int self = t_.circle_.self;
  t_.sources_.push_back(hosts_[host_]);
  std::vector<int>& sources = t_.sources_.emplace_back();  // of what is this process's in the end
  for (size_t host = 0; host < hosts_.size(); host++) {
    if (host != host_) sources.push_back(relay(host, self));
    if (host == host_) sources.insert(sources.end(), hosts_[host].begin(), hosts_[host].end());
  }
  int64_t step = kPieceBytes / size_, longest = 0, room = 0;
  for (const Part& part : parts) {
    longest = std::max(longest, part.count);
    if (host_of_[part.place] != host_ && relay(host_, part.place) == self) room += part.count;
  }
  t_.host_sums_.resize(static_cast<size_t>(room * size_));
  struct Sum {
    char* scratch;
    int needs;
  };
  std::vector<Sum> before, now;  // of each part
  char* scratch = t_.host_sums_.data();
  auto range = [&](const Part& part, int64_t first) {
    return Range{first, std::min(step, part.count - first)};
  };
  for (int64_t first = 0; first < longest + step; first += step) {
    now.assign(parts.size(), {});
    for (size_t i = 0; i < parts.size(); i++) {
      if (first >= parts[i].count) continue;
      int sums = sum_here(parts[i], range(parts[i], first), own, scratch);
      now[i] = {scratch, sums};
      if (sums > 0) scratch += range(parts[i], first).count * size_;
    }
    for (size_t i = 0; i < parts.size() && first > 0; i++)
      if (first - step < parts[i].count)
        sum_there(parts[i], range(parts[i], first - step), own, before[i].scratch, before[i].needs);
    std::swap(before, now);
  }
}

// What the processes of this machine have for another one; returns how many pieces are reduced when it is,
// here alone.
int Transfer::TwoLevels::sum_here(const Part& part, Range range, const char* own, char* scratch) {
  if (host_of_[part.place] == host_ || places_here() == 1) return 0;
  int at = relay(host_, part.place);
  const char* from = own + (part.offset + range.first) * size_;
  if (at != t_.circle_.self) {
    t_.send(at, from, range.count);
    return 0;
  }
  for (int place : hosts_[host_])
    if (place != at) t_.receive(place, nullptr, range.count, static_cast<int>(t_.pieces_.size()));
  t_.pieces_.push_back({scratch, from, range.count, &t_.sources_[1]});
  return static_cast<int>(t_.pieces_.size());
}

void Transfer::TwoLevels::sum_there(const Part& part, Range range, const char* own, const char* scratch,
                                    int needs) {
  const char* from = own + (part.offset + range.first) * size_;
  if (part.place == t_.circle_.self) {
    for (int place : t_.sources_[2])
      if (place != part.place) t_.receive(place, nullptr, range.count, static_cast<int>(t_.pieces_.size()));
    t_.pieces_.push_back({part.memory + range.first * size_, from, range.count, &t_.sources_[2]});
  } else if (host_of_[part.place] == host_) {
    t_.send(part.place, from, range.count);
  } else if (relay(host_, part.place) == t_.circle_.self) {
    t_.send(part.place, needs > 0 ? scratch : from, range.count, needs);
  }
}

}  // namespace tw::comm
