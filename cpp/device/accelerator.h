// Backends whose work is queued, in libraries of their own that are loaded at run time; and where to find the
// backend of a device.
//
// Such a library exports one C entry, `thalweg_backend(abi_hash)`, which returns its Accelerator, or null
// when it was built for another hash: what both sides' headers say of memory would differ.
#pragma once

#include <atomic>
#include <string>

#include "device/backend.h"

namespace tw::device {

struct AcceleratorInfo {
  std::string name;
  int64_t memory_bytes = 0;
  int major = 0, minor = 0;  // compute capability
  int processors = 0;
};

// Every call is safe on any thread. "Current" is a thread's own. Device numbers are checked: kDevice names a
// wrong one.
class Accelerator : public Backend {
 public:
  // Empty, or the sentence that says why no device can be used.
  virtual std::string why_unavailable() = 0;
  virtual AcceleratorInfo info(int device) = 0;
  virtual int current_device() = 0;
  virtual void set_current_device(int device) = 0;
  // Waits for all streams of the device.
  virtual void synchronize(int device) = 0;

  virtual Ref<Stream> make_stream(int device, int priority) = 0;
  virtual void set_current_stream(const Ref<Stream>& stream) = 0;
  virtual Ref<Stream> default_stream(int device) = 0;
  virtual int device_of(const Stream& stream) = 0;
  virtual bool done(const Stream& stream) = 0;
  virtual void* native_handle(const Stream& stream) = 0;
  // What is queued on `stream` from now on begins after `event` has been reached; the caller does not wait.
  virtual void wait(Stream& stream, Event& event) = 0;
  virtual double elapsed_ms(Event& begin, Event& end) = 0;
  // Memory of the allocator that `stream` uses as well: after it is freed it is given to nobody before what
  // is queued there now has run.
  virtual void record_use(void* data, Stream& stream) = 0;

  // Host memory that copies need not pass through a buffer for.
  virtual void* allocate_pinned(size_t size_bytes) = 0;
  virtual void free_pinned(void* data) = 0;
};

// Loads a library; returns the empty string, or the sentence that says why it cannot be used. Once one is
// loaded, later calls do nothing.
std::string load_accelerator(const std::string& path);

extern std::atomic<Accelerator*> g_accelerator;
// Null while none is loaded.
inline Accelerator* find_accelerator() { return g_accelerator.load(std::memory_order_acquire); }
// Throws kDevice where none is.
Accelerator& accelerator();

// The backend of a kind of device; throws kDevice naming the device where there is none.
Backend& backend_of(Device device);

}  // namespace tw::device
