// The launches of a chain on an accelerator, recorded so that a firing queues them as one
// (device/accelerator.h).
//
// The first firing launches one by one, so that libraries choose their algorithms and kernels are loaded. The
// second finds out which launches can be recorded: not those that wait for the device or hand it memory of
// the host. These stay as they are, and the others are recorded, from one of these to the next. Later firings
// record anew only launches whose operands' addresses, numbers or random keys are no longer what they were.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "device/recording.h"

namespace tw::runtime {

// Where the chains of one device, which run one after the other, get their recordings from.
class RecordingSource {
 public:
  RecordingSource(device::Recorders& recorders, device::Device device)
      : recorders_(recorders), device_(device) {}
  device::Device device() const { return device_; }
  // The first call makes the recorder.
  Ref<device::Recording> make_recording();

 private:
  device::Recorders& recorders_;
  device::Device device_;
  Ref<device::Recorder> recorder_;
};

class Replay {
 public:
  using Launch = FunctionRef<void(size_t)>;

  // The source must outlive it.
  Replay(RecordingSource& source, size_t launches);
  // The launch has to be made by the host in every firing.
  void leave_out(size_t launch) { by_host_[launch] = true; }
  // What the launch is called with is not what it was.
  void change(size_t launch) { changed_[launch] = true; }
  // Queues all launches on the current stream; launch(i) makes number i. Throws what that throws.
  void fire(Launch launch);
  // The launch that is being made; of a recording that is being queued, its first.
  size_t position() const { return position_; }
  // How many launches are recorded.
  size_t recorded() const;

 private:
  struct Part {
    size_t first, last;
    Ref<device::Recording> recording;  // null: launched one by one
    bool complete = false;             // all is recorded
  };
  void probe(Launch launch);
  void make(size_t number, Launch launch) {
    position_ = number;
    launch(number);
  }
  void run(const Part& part);
  void split();
  bool record(Part& part, Launch launch);

  RecordingSource& source_;
  std::vector<bool> by_host_, changed_;
  bool fired_ = false;
  size_t position_ = 0;
  std::vector<Part> parts_;
};

}  // namespace tw::runtime
