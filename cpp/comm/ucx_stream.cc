#include "comm/ucx_stream.h"

#include <algorithm>
#include <cstring>

namespace tw::comm {

namespace {

constexpr size_t kHeadBytes = 4096;  // a mapping has a head

Mapping make_ring(size_t bytes) {
  Descriptor memory = make_shared_memory(kHeadBytes + bytes);
  return Mapping(memory.get(), kHeadBytes, bytes, 1);
}

}  // namespace

UcxStream::UcxStream(UcxWorker& worker, int process, uint16_t channel)
    : worker_(worker), process_(process), channel_(channel), memory_(make_ring(kRingBytes)) {
  out_.reserve(kGatherBytes);
}

UcxRequest UcxStream::send(const char* data, size_t size, bool eager) {
  UcxHeader header{process_, channel_, 0, out_at_};
  out_at_ += size;
  return UcxWorker::send(endpoint_, header, data, size, eager);
}

// Whatever of the oldest chunks has gone.
void UcxStream::settle() {
  while (!sent_.empty()) {
    ucs_status_t status = sent_.front().request.status();
    if (status == UCS_INPROGRESS) return;
    if (status != UCS_OK) broken_ = true;
    if (broken_) return;
    taken_ += sent_.front().taken;
    ahead_ -= sent_.front().taken;
    sent_.pop_front();
  }
}

bool UcxStream::send_gathered() {
  if (out_.empty()) return true;
  if (!endpoint_ || !has_room(out_.size())) return false;
  sent_.push_back({{}, 0, std::move(out_)});
  const std::vector<char>& kept = sent_.back().kept;
  sent_.back().request = send(kept.data(), kept.size(), true);
  out_ = {};
  out_.reserve(kGatherBytes);
  return true;
}

size_t UcxStream::write(const char* from, size_t size) {
  settle();
  if (broken_) return 0;
  bool begins = ahead_ == 0 && taken_ == 0;
  bool gathers = begins && size <= kGatherBytes && (out_.size() + size <= kGatherBytes || send_gathered());
  if (gathers) {
    out_.insert(out_.end(), from, from + size);
    return size;
  }
  if (!endpoint_ || !send_gathered()) return std::exchange(taken_, 0);
  while (taken_ + ahead_ < size && ahead_ < kAheadBytes) {
    size_t first = taken_ + ahead_, piece = std::min(size - first, kRemoteBytes);
    bool eager = piece <= kEagerBytes;
    if (eager && !has_room(piece)) break;
    sent_.push_back({send(from + first, piece, eager), piece, {}});
    ahead_ += piece;
    settle();
    if (broken_) return 0;
  }
  return std::exchange(taken_, 0);
}

bool UcxStream::flush() {
  if (broken_ || !send_gathered()) return false;
  settle();
  if (!sent_.empty()) return false;
  return out_at_ - std::min(peer_read_, out_at_) <= kSystemBytes;
}

bool UcxStream::receive(const UcxHeader& header, void* data, size_t size, bool remote) {
  if (header.credit) {
    peer_read_ = std::max(peer_read_, header.at);
    return false;
  }
  if (remote) {
    remote_.try_emplace(header.at, Remote{size, data});
    return true;
  }
  if (header.at < have_ || header.at + size > read_ + kRingBytes) {
    broken_ = true;  // not what this stream's other side does
    return false;
  }
  std::memcpy(ring(header.at), data, size);
  early_[header.at] = size;
  arrive();
  return false;
}

char* UcxStream::ring(uint64_t at) const { return memory_.data() + kHeadBytes + at % kRingBytes; }

// What follows without a gap on what has come.
void UcxStream::arrive() {
  for (;;) {
    if (auto early = early_.find(have_); early != early_.end()) {
      have_ += early->second;
      early_.erase(early);
      continue;
    }
    auto found = remote_.find(have_);
    if (found == remote_.end() || found->second.descriptor || found->second.direct) return;
    ucs_status_t status = found->second.request.status();
    if (status == UCS_INPROGRESS) return;
    if (status != UCS_OK) broken_ = true;
    if (broken_) return;
    have_ += found->second.size;
    remote_.erase(found);
  }
}

void UcxStream::fetch(Remote& remote, char* to) {
  ucp_request_param_t how{};
  void* descriptor = std::exchange(remote.descriptor, nullptr);
  remote.request = UcxRequest(ucx().am_recv_data_nbx(worker_.get(), descriptor, to, remote.size, &how));
}

void UcxStream::fetch_into_ring() {
  for (auto& [at, remote] : remote_) {
    if (at + remote.size > read_ + kRingBytes) break;
    if (remote.descriptor) fetch(remote, ring(at));
  }
}

// What follows on what was read and fits.
void UcxStream::fetch_directly(char* to, size_t size) {
  uint64_t next = read_;
  for (auto& [at, remote] : remote_) {
    if (at != next || at + remote.size > read_ + size) break;
    if (remote.descriptor) {
      remote.direct = true;
      fetch(remote, to + (at - read_));
    }
    next = at + remote.size;
  }
}

size_t UcxStream::take_direct() {
  size_t taken = 0;
  while (have_ == read_) {
    auto found = remote_.find(read_);
    if (found == remote_.end() || !found->second.direct) break;
    ucs_status_t status = found->second.request.status();
    if (status != UCS_OK) {
      broken_ |= status != UCS_INPROGRESS;
      break;
    }
    taken += found->second.size;
    read_ += found->second.size;
    have_ = read_;
    remote_.erase(found);
    arrive();
  }
  return taken;
}

std::span<const char> UcxStream::readable(size_t least) {
  if (have_ - read_ < least) {
    fetch_into_ring();
    arrive();
  }
  return {ring(read_), static_cast<size_t>(have_ - read_)};
}

void UcxStream::consume(size_t size) {
  read_ += size;
  tell_progress();
}

size_t UcxStream::read(char* to, size_t size) {
  arrive();
  if (size_t here = std::min<size_t>(have_ - read_, size)) {
    std::memcpy(to, ring(read_), here);
    consume(here);
    return here;
  }
  fetch_directly(to, size);
  size_t taken = take_direct();
  if (taken > 0)
    tell_progress();
  else if (auto next = remote_.find(read_); next != remote_.end() && next->second.size > size)
    fetch_into_ring();
  return taken;
}

void UcxStream::tell_progress() {
  if (!endpoint_ || read_ - told_ < kSystemBytes) return;
  told_ = read_;
  UcxWorker::send(endpoint_, {process_, channel_, 1, read_}, nullptr, 0, true);
}

bool UcxStream::touches_callers() {
  bool out = std::any_of(sent_.begin(), sent_.end(), [](Sent& sent) {
    return sent.taken > 0 && sent.request.status() == UCS_INPROGRESS;
  });
  return out || std::any_of(remote_.begin(), remote_.end(), [](auto& entry) {
           return entry.second.direct && entry.second.request.status() == UCS_INPROGRESS;
         });
}

bool UcxStream::touches_any() {
  bool out = std::any_of(sent_.begin(), sent_.end(),
                         [](Sent& sent) { return sent.request.status() == UCS_INPROGRESS; });
  return out || std::any_of(remote_.begin(), remote_.end(),
                            [](auto& entry) { return entry.second.request.status() == UCS_INPROGRESS; });
}

void UcxStream::drop() {
  for (auto& [at, remote] : remote_)
    if (remote.descriptor) ucx().am_data_release(worker_.get(), std::exchange(remote.descriptor, nullptr));
  read_ = have_;
}

}  // namespace tw::comm
