// Work of an accelerator that is queued again and again as one: CUDA graphs.
#pragma once

#include "base/function_ref.h"
#include "device/accelerator.h"

namespace tw::device {

// It is recorded in pieces, each of which may be recorded anew when what it works on has changed.
class Recording : public RefCounted {
 public:
  // What `work` queues on this thread becomes piece `number`, in place of what that was; none of it runs.
  // Pieces are numbered from 0 and recorded in order at first. False, and the piece stays what it was, where
  // `work` waits for the device or hands it memory of the host; what else it throws is thrown.
  virtual bool record(size_t number, FunctionRef<void()> work) = 0;
  // Queues all pieces, one after the other. Throws kDevice.
  virtual void run(Stream& stream) = 0;
};

// Makes recordings, with the memory that their work takes while it runs: they are not to run at the same
// time. What they have queued has run when it is destroyed.
class Recorder : public RefCounted {
 public:
  virtual Ref<Recording> make_recording() = 0;
};

// What an Accelerator that can record is as well.
class Recorders {
 public:
  virtual ~Recorders() = default;
  virtual Ref<Recorder> make_recorder(int device) = 0;
};

// Null where the backend of the device cannot record, or programs are not to.
Recorders* find_recorders(Device device);
// Whether programs that are made from now on record their launches. Returns what was said before.
bool allow_recordings(bool on);

}  // namespace tw::device
