#include "runtime/steps.h"

namespace tw::runtime {

void StepRing::wait(int64_t number, int spins) {
  Step& step = at(number);
  {
    std::lock_guard lock(mutex);
    if (step.number != number) return;
  }
  step.wait(spins);
  std::shared_ptr<Failure> failure;
  {
    std::lock_guard lock(mutex);
    if (step.number == number) failure = step.failure;
    if (failure) failure->seen = true;
  }
  if (failure) std::rethrow_exception(failure->error);
}

bool StepRing::done(int64_t number) {
  std::lock_guard lock(mutex);
  Step& step = at(number);
  return step.number != number || step.done();
}

bool StepRing::touched(int64_t number) {
  std::lock_guard lock(mutex);
  Step& step = at(number);
  return step.number == number && step.touched;
}

void StepRing::throw_news(const Step& step) {
  if (!step.failure || step.failure->seen) return;
  step.failure->seen = true;
  std::rethrow_exception(step.failure->error);
}

}  // namespace tw::runtime
