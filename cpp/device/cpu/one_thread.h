// OpenMP, on which oneDNN runs, held to the calling thread.
#pragma once

namespace tw::device {

// oneDNN runs on this thread alone while this lives. The count of OpenMP's threads belongs to the calling
// thread and to everybody in the process who uses the same run time, as torch does: it is put back.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace tw::device
