// Waiting, apart from any group.
#include "comm/fabric.h"

#include "comm/processes.h"
#include "test.h"

namespace tw::comm {
namespace {

class Nothing final : public Active {
 public:
  bool advance() override { return false; }
};

// What it has found may be gone when it looks again, and nobody rings for that.
TEST(a_condition_that_has_come_true_is_not_asked_again) {
  run_processes({1, 1}, [](Fabric& fabric) {
    bool told = false, again = false;
    auto once_before_sleep = [&] {
      again |= told;
      bool now = !told && fabric.doorbell().sleepers.load() > 0;
      told |= now;
      return now;
    };
    Nothing nothing;
    CHECK(fabric.wait(nothing, 500, once_before_sleep, [] {}));
    CHECK(told && !again);
  });
}

}  // namespace
}  // namespace tw::comm
