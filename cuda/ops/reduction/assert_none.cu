// assert_none: raises where any element holds, and so waits for the device. Floor: the condition's bytes over
// the bandwidth.
//
// Per element: 1 bytes and 2 operations (assert_none, bool).
#include "cuda/common/dense.h"
#include "cuda/common/flag.h"
#include "ops/reduction/assert_none.h"

namespace tw::cuda {

namespace {

constexpr int kThreads = block_threads(256);

__global__ void __launch_bounds__(kThreads)
    find_holding_kernel(const uint8_t* condition, int64_t count, unsigned long long* first) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count && condition[i]) note_wrong(first, i);
}

void assert_none_kernel(device::KernelContext& k) {
  const device::Operand& condition = k.in(0);
  int64_t count = condition.count();
  Dense<bool> dense(condition, k.op);
  FirstWrong found;
  launch(k.op, find_holding_kernel, {static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads},
         reinterpret_cast<const uint8_t*>(dense.data()), count, found.data());
  if (int64_t position = found.position(); position >= 0)
    ops::raise_assertion(k.attrs<ops::AssertAttrs>(), *condition.sizes, position);
}

}  // namespace

void kernels_assert_none(device::KernelTable& table) { table.add("assert_none", assert_none_kernel); }

}  // namespace tw::cuda
