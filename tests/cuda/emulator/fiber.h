// Stacks that one thread runs on in turn. A switch saves the registers that a called function must keep: some
// 5 ns.
#pragma once

#include <cstddef>

namespace tw::cuda::emulator {

class Fiber {
 public:
  // Prepares to run `entry()` on a stack that nobody uses now. The entry never returns: it ends by leaving.
  void start(char* stack, size_t stack_bytes, void (*entry)());
  // Runs the fiber until it leaves.
  void resume();
  // Called on the fiber: back to who resumed it.
  static void leave(Fiber& self);

 private:
  void* own_ = nullptr;  // stack pointers of who is not running
  void* caller_ = nullptr;
};

}  // namespace tw::cuda::emulator
