#include "device/cpu/one_thread.h"

#include "base/error.h"

// oneDNN's own OpenMP run time; libdnnl brings it.
extern "C" __attribute__((weak)) void omp_set_num_threads(int count);
extern "C" __attribute__((weak)) int omp_get_max_threads();

namespace tw::device {

OneThread::OneThread() {
  TW_CHECK(omp_set_num_threads && omp_get_max_threads, kInternal,
           "the OpenMP run time of oneDNN was not found");
  before_ = omp_get_max_threads();
  omp_set_num_threads(1);
}

OneThread::~OneThread() { omp_set_num_threads(before_); }

}  // namespace tw::device
