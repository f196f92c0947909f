#include "comm/process_messages.h"

#include <algorithm>
#include <cstring>

namespace tw::comm {

namespace {

size_t bytes_of(const MessageHeader& header) {
  return static_cast<size_t>(header.count * size_of(header.dtype));
}

bool same_way(const MessageHeader& a, const MessageHeader& b) {
  return a.from == b.from && a.to == b.to && a.tag == b.tag;
}

std::string text_of_header(const MessageHeader& header) {
  std::string text =
      cat(header.dtype, ", ", header.count, " elements, from member ", header.from, " to member ", header.to);
  if (header.origin[0]) text += cat(", at ", std::string(header.origin));
  return text;
}

void check_fits(const MessageHeader& sent, const MessageHeader& wanted) {
  TW_CHECK(sent.dtype == wanted.dtype && sent.count == wanted.count, kComm,
           "send and recv do not fit together: sent: ", text_of_header(sent),
           "; wanted: ", text_of_header(wanted));
}

}  // namespace

ProcessMessage::ProcessMessage(PendingOwner& owner, const Message& message)
    : Pending(owner), data(static_cast<char*>(message.data)), keep(message.keep) {
  header.from = message.from;
  header.to = message.to;
  header.tag = message.tag;
  header.count = message.count;
  header.dtype = message.dtype;
  std::string_view origin = message.origin;
  if (origin.size() >= sizeof(header.origin)) origin.remove_prefix(origin.size() - sizeof(header.origin) + 1);
  std::copy(origin.begin(), origin.end(), header.origin);
  bytes = bytes_of(header);
}

std::string ProcessMessage::text(bool sends) const {
  return cat(sends ? "send of " : "recv of ", text_of_header(header));
}

void ProcessMessages::receive(int place, Ref<ProcessMessage> message) {
  Place& here = places_[place];
  for (auto kept = here.kept.begin(); kept != here.kept.end(); ++kept) {
    if (!same_way(kept->header, message->header)) continue;
    check_fits(kept->header, message->header);
    std::copy(kept->kept.begin(), kept->kept.end(), message->data);
    here.kept.erase(kept);
    message->release();
    message->set_done();
    return;
  }
  Incoming* coming = here.coming.get();
  bool meets = coming && !coming->to && same_way(coming->header, message->header);
  here.receives.push_back(message);
  if (!meets) return;
  // It is on its way into memory of our own: the rest goes straight to where it is wanted.
  check_fits(coming->header, message->header);
  std::copy_n(coming->kept.data(), std::min(coming->moved, message->bytes), message->data);
  coming->to = message;
  message->met = true;
}

bool ProcessMessages::idle() const {
  return std::all_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.sends.empty() && place.receives.empty(); });
}

bool ProcessMessages::advance(const Links& links) {
  bool any = false;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t place = 0; place < places_.size(); place++) {
      if (!links[place]) continue;
      moved |= push(places_[place], links[place]->messages());
      moved |= pull(places_[place], links[place]->messages());
    }
    any |= moved;
  }
  return any;
}

bool ProcessMessages::push(Place& place, Stream& stream) {
  if (place.sends.empty()) return false;
  Ref<ProcessMessage> message = place.sends.front();
  size_t head = sizeof(MessageHeader), end = head + padded(message->bytes), before = message->moved;
  const char zeros[kAlign] = {};
  while (message->moved < end) {
    size_t at = message->moved, written;
    if (at < head)
      written = stream.write(reinterpret_cast<const char*>(&message->header) + at, head - at);
    else if (at < head + message->bytes)
      written = stream.write(message->data + at - head, message->bytes - (at - head));
    else
      written = stream.write(zeros, end - at);
    if (written == 0) break;
    message->moved += written;
  }
  bool moved = message->moved > before;
  if (stream.flush() && message->moved == end) {
    place.sends.pop_front();
    message->release();
    message->set_done();
  }
  return moved;
}

Ref<ProcessMessage> ProcessMessages::find_receive(Place& place, const MessageHeader& header) {
  for (const Ref<ProcessMessage>& receive : place.receives)
    if (!receive->met && same_way(receive->header, header)) return receive;
  return nullptr;
}

// Takes the next header, unless nobody waits for anything: then the message stays where it is.
bool ProcessMessages::begin(Place& place, Stream& stream) {
  if (place.receives.empty()) return false;
  std::span<const char> data = stream.readable(sizeof(MessageHeader));
  if (data.size() < sizeof(MessageHeader)) return false;
  auto coming = std::make_unique<Incoming>();
  std::memcpy(&coming->header, data.data(), sizeof(MessageHeader));
  stream.consume(sizeof(MessageHeader));
  coming->to = find_receive(place, coming->header);
  if (coming->to) {
    check_fits(coming->header, coming->to->header);
    coming->to->met = true;
  } else {
    coming->kept.resize(bytes_of(coming->header));
  }
  place.coming = std::move(coming);
  return true;
}

bool ProcessMessages::pull(Place& place, Stream& stream) {
  bool moved = false;
  while (place.coming || begin(place, stream)) {
    Incoming& coming = *place.coming;
    size_t bytes = bytes_of(coming.header), end = padded(bytes);
    char* to = coming.to ? coming.to->data : coming.kept.data();
    while (coming.moved < end) {
      size_t size;
      if (coming.moved < bytes) {
        size = stream.read(to + coming.moved, bytes - coming.moved);
      } else {
        size = std::min(stream.readable(1).size(), end - coming.moved);
        stream.consume(size);
      }
      if (size == 0) return moved;
      coming.moved += size;
    }
    moved = true;
    if (coming.to)
      finish(place, coming.to);
    else
      place.kept.push_back(std::move(coming));
    place.coming = nullptr;
  }
  return moved;
}

void ProcessMessages::finish(Place& place, const Ref<ProcessMessage>& receive) {
  std::erase(place.receives, receive);
  receive->release();
  receive->set_done();
}

std::string ProcessMessages::waits_for(int place) const {
  const Place& here = places_[place];
  if (!here.receives.empty()) return here.receives.front()->text(false);
  return here.sends.empty() ? std::string() : here.sends.front()->text(true);
}

std::string ProcessMessages::text_of(const Pending& request) const {
  for (const Place& place : places_) {
    for (const auto& message : place.receives)
      if (message.get() == &request) return message->text(false);
    for (const auto& message : place.sends)
      if (message.get() == &request) return message->text(true);
  }
  return "";
}

void ProcessMessages::fail_all(const std::string& reason) {
  for (Place& place : places_) {
    auto fail = [&](const Ref<ProcessMessage>& message) {
      message->release();
      message->set_failed(reason);
    };
    std::for_each(place.sends.begin(), place.sends.end(), fail);
    std::for_each(place.receives.begin(), place.receives.end(), fail);
    place.sends.clear();
    place.receives.clear();
  }
}

}  // namespace tw::comm
