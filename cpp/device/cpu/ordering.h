// Tells ThreadSanitizer the order that the pool gives. libtbb.so is not built with the sanitizer, so without
// this every region would look like a race; suppressing what runs below libtbb.so would hide the races of all
// kernels with it.
#pragma once

#if defined(TW_SANITIZE_THREAD)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace tw::device {

// What happened before release() has happened after acquire() of the same mark. Costs nothing outside of
// TSan.
class OrderMark {
 public:
#if defined(TW_SANITIZE_THREAD)
  void release() { __tsan_release(&mark_); }
  void acquire() { __tsan_acquire(&mark_); }

 private:
  char mark_ = 0;
#else
  void release() {}
  void acquire() {}
#endif
};

}  // namespace tw::device
