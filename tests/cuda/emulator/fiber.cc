#include "tests/cuda/emulator/fiber.h"

#include <cstdint>

#ifndef __x86_64__
#error "the emulator switches stacks of x86-64 only"
#endif

extern "C" void tw_switch_stack(void** save, void* load);
asm(R"(
  .text
  .p2align 4
  .globl tw_switch_stack
  .hidden tw_switch_stack
  .type tw_switch_stack, @function
tw_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tw_switch_stack, .-tw_switch_stack
)");

namespace tw::cuda::emulator {

void Fiber::start(char* stack, size_t stack_bytes, void (*entry)()) {
  // As if the switch had been called from `entry`: six registers, then where to go. A function expects its
  // stack pointer to be 8 bytes off a multiple of 16.
  auto top = reinterpret_cast<uintptr_t>(stack + stack_bytes) & ~uintptr_t{15};
  auto* slot = reinterpret_cast<void**>(top - 16);
  slot[1] = nullptr;
  slot[0] = reinterpret_cast<void*>(entry);
  for (int i = 1; i <= 6; i++) slot[-i] = nullptr;
  own_ = slot - 6;
}

void Fiber::resume() { tw_switch_stack(&caller_, own_); }
void Fiber::leave(Fiber& self) { tw_switch_stack(&self.own_, self.caller_); }

}  // namespace tw::cuda::emulator
