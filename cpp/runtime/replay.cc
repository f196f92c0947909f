#include "runtime/replay.h"

#include "base/error.h"

namespace tw::runtime {

namespace {

constexpr size_t kFewest = 2;  // launches that are worth a recording

}  // namespace

Ref<device::Recording> RecordingSource::make_recording() {
  if (!recorder_) recorder_ = recorders_.make_recorder(device_.index);
  return recorder_->make_recording();
}

Replay::Replay(RecordingSource& source, size_t launches)
    : source_(source), by_host_(launches), changed_(launches) {}

void Replay::fire(Launch launch) {
  if (fired_ && parts_.empty()) {
    probe(launch);
    split();
  }
  if (!fired_)
    for (size_t i = 0; i < by_host_.size(); i++) make(i, launch);
  fired_ = true;
  bool complete = true;
  for (Part& part : parts_) {
    if (part.recording && record(part, launch)) {
      run(part);
      continue;
    }
    complete = complete && !part.recording;
    for (size_t i = part.first; i < part.last; i++) make(i, launch);
  }
  if (!complete) parts_.clear();  // the next firing cuts them anew
}

void Replay::probe(Launch launch) {
  Ref<device::Recording> recording = source_.make_recording();
  for (size_t i = 0; i < by_host_.size(); i++)
    by_host_[i] = by_host_[i] || !recording->record(0, [&] { make(i, launch); });
}

void Replay::split() {
  for (size_t first = 0, last = 0; first < by_host_.size(); first = last) {
    while (last < by_host_.size() && by_host_[last] == by_host_[first]) last++;
    const bool worth = !by_host_[first] && last - first >= kFewest;
    parts_.push_back({first, last, worth ? source_.make_recording() : nullptr});
  }
}

// False where a launch that could be recorded no longer can.
bool Replay::record(Part& part, Launch launch) {
  for (size_t i = part.first; i < part.last; i++) {
    if (part.complete && !changed_[i]) continue;
    if (!part.recording->record(i - part.first, [&] { make(i, launch); })) {
      by_host_[i] = true;
      return false;
    }
    changed_[i] = false;
  }
  return part.complete = true;
}

void Replay::run(const Part& part) {
  position_ = part.first;
  try {
    const device::Device device = source_.device();
    part.recording->run(device::backend_of(device).current_stream(device.index));
  } catch (const Error& error) {
    throw Error(error.kind(), cat(error.what(), "; it is one of ", part.last - part.first,
                                  " launches that are queued together, the first of them"));
  }
}

size_t Replay::recorded() const {
  size_t count = 0;
  for (const Part& part : parts_)
    if (part.complete) count += part.last - part.first;
  return count;
}

}  // namespace tw::runtime
