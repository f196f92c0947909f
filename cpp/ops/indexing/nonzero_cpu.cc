// Counts by blocks, then every block writes its rows. Floor: the input's bytes twice, the output's once.
#include <vector>

#include "device/cpu/cast.h"
#include "device/cpu/parallel.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kBlock = 1 << 15;

void nonzero_kernel(KernelContext& k) {
  const Operand& x = k.in(0);
  int64_t count = x.count(), rank = x.rank(), blocks = (count + kBlock - 1) / kBlock;
  Dims strides = contiguous_strides(*x.sizes);
  std::vector<uint8_t> memory;
  const uint8_t* truth = x.as<uint8_t>();
  if (size_of(x.dtype) != 1 || !x.contiguous()) {
    memory.resize(count);
    copy_cast(Operand{memory.data(), x.sizes, &strides, DType::kBool}, x);
    truth = memory.data();
  }
  std::vector<int64_t> starts(blocks + 1, 0);
  auto end_of = [&](int64_t block) { return std::min(count, (block + 1) * kBlock); };
  parallel_for(0, blocks, 2, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; b++)
      for (int64_t i = b * kBlock; i < end_of(b); i++) starts[b + 1] += truth[i] != 0;
  });
  for (int64_t b = 0; b < blocks; b++) starts[b + 1] += starts[b];
  k.allocate_output(0, {starts[blocks], rank});
  int64_t* out = k.out().as<int64_t>();
  parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; b++) {
      int64_t* row = out + starts[b] * rank;
      for (int64_t i = b * kBlock; i < end_of(b); i++) {
        if (!truth[i]) continue;
        int64_t rest = i;
        for (int64_t d = 0; d < rank; d++) {
          *row++ = rest / strides[d];
          rest %= strides[d];
        }
      }
    }
  });
}

}  // namespace

void kernels_nonzero(KernelTable& table) { table.add("nonzero", nonzero_kernel); }

}  // namespace tw::ops
