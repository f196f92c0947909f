// nonzero, and the positions of what holds, which others compact by.
//
// Counts by tiles, a scan of the counts, then every tile writes its rows in order. Waits for the device,
// which alone knows how many there are. Floor: the truth's bytes twice, the result's once, over the
// bandwidth.
//
// Per element: 2 bytes and 10 operations (nonzero that finds few, bool).
#include "cuda/common/dense.h"
#include "cuda/common/flag.h"
#include "cuda/common/group_scan.h"
#include "cuda/common/holding.h"
#include "cuda/common/row_values.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);
constexpr int kTileSteps = 16;
constexpr int kTile = kThreads * kTileSteps;

__global__ void __launch_bounds__(kThreads)
    count_kernel(const uint8_t* truth, int64_t count, int64_t* counts) {
  int64_t first = static_cast<int64_t>(blockIdx.x) * kTile;
  int holding = 0;
  for (int step = 0; step < kTileSteps; step++) {
    int64_t i = first + step * kThreads + threadIdx.x;
    if (i < count) holding += truth[i] != 0;
  }
  holding = block_reduce<kThreads>(holding, 0, Plus());
  if (threadIdx.x == 0) counts[blockIdx.x] = holding;
}

// One block: counts become what comes before; the sum of all stands behind them.
__global__ void __launch_bounds__(kThreads) scan_kernel(int64_t* counts, int64_t tiles) {
  int64_t before = 0;
  for (int64_t base = 0; base < tiles; base += kThreads) {
    int64_t i = base + threadIdx.x;
    int64_t count = i < tiles ? counts[i] : 0;
    auto scanned = group_scan<kThreads>(count, int64_t{0}, Plus());
    if (i < tiles) counts[i] = before + scanned.before;
    before += scanned.all;
  }
  if (threadIdx.x == 0) counts[tiles] = before;
}

struct Positions {
  int64_t* out;  // [count, rank]
  int rank;
  int64_t strides[kMostDims];  // of the elements, row-major

  TW_DEVICE void write(int64_t row, int64_t element) const {
    for (int d = 0; d < rank; d++) {
      out[row * rank + d] = element / strides[d];
      element %= strides[d];
    }
  }
};

__global__ void __launch_bounds__(kThreads)
    write_kernel(const uint8_t* truth, int64_t count, const int64_t* before, Positions positions) {
  int64_t first = static_cast<int64_t>(blockIdx.x) * kTile, row = before[blockIdx.x];
  for (int step = 0; step < kTileSteps; step++) {
    int64_t i = first + step * kThreads + threadIdx.x;
    bool holds = i < count && truth[i] != 0;
    auto scanned = group_scan<kThreads>(static_cast<int>(holds), 0, Plus());
    if (holds) positions.write(row + scanned.before, i);
    row += scanned.all;
  }
}

unsigned tiles_of(int64_t count) { return static_cast<unsigned>((count + kTile - 1) / kTile); }

}  // namespace

Holding::Holding(const uint8_t* truth, int64_t count, const char* op)
    : truth_(truth), count_(count), op_(op), before_((tiles_of(count) + 1) * sizeof(int64_t)) {
  unsigned tiles = tiles_of(count);
  launch(op, count_kernel, {tiles, kThreads}, truth, count, before_.as<int64_t>());
  launch(op, scan_kernel, {1, kThreads}, before_.as<int64_t>(), int64_t{tiles});
  total_ = read_one(before_.as<const int64_t>() + tiles);
}

void Holding::write(const Dims& sizes, int64_t* out) const {
  Positions positions{out, static_cast<int>(sizes.size()), {}};
  TW_CHECK(sizes.size() <= kMostDims, kNotImplemented, op_, ": positions in ", sizes.size(),
           " dims are not supported on CUDA");
  Dims strides = contiguous_strides(sizes);
  std::copy(strides.begin(), strides.end(), positions.strides);
  launch(op_, write_kernel, {tiles_of(count_), kThreads}, truth_, count_, before_.as<const int64_t>(),
         positions);
}

namespace {

void nonzero_kernel(KernelContext& k) {
  const Operand& x = k.in(0);
  Dense<bool> truth(x, k.op);
  Holding holding(reinterpret_cast<const uint8_t*>(truth.data()), x.count(), k.op);
  k.allocate_output(0, {holding.total(), x.rank()});
  holding.write(*x.sizes, k.out().as<int64_t>());
}

}  // namespace

void kernels_nonzero(device::KernelTable& table) { table.add("nonzero", nonzero_kernel); }

}  // namespace tw::cuda
