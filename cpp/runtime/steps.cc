#include "runtime/steps.h"

#include "base/error.h"
#include "comm/world.h"

namespace tw::runtime {

std::string reason_of(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kComm) return error.what();
    return cat("rank ", comm::world().first_rank(), ": ", error.what());
  } catch (...) {  // the interpreter's: its text is not to be had here
    return cat("rank ", comm::world().first_rank(), ": a callback has failed");
  }
}

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
