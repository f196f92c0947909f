// resample and its gradient. The host finds the taps of each dim (ops/resample/taps.h) and sends them; a
// thread adds up the taps of an output, or, backward, what the outputs that read an input give to it, in
// order, without atomics. Bytes go dim by dim, rounded after each. Floor: the bytes of input and output over
// the bandwidth, or 2 flops a tap.
//
// Per element: 5 bytes and 30 operations (bilinear by 2, float32).
#include "cuda/common/dense.h"
#include "cuda/common/element.h"
#include "cuda/common/launch.h"
#include "cuda/common/planes.h"
#include "cuda/common/upload.h"
#include "ops/resample/taps.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

struct DeviceTap {
  int position;
  double weight;
};

// The taps of three dims: those of position i of dim d are taps[first[d][i]] to taps[first[d][i + 1]].
struct Taps {
  const int* first[3];
  const DeviceTap* taps;
};

// What is made of what, as the host lists it.
class TapLists {
 public:
  // Of the outputs: what each is made of; reversed, of the inputs: what each goes to.
  TapLists(const std::array<ops::TapTable, 3>& tables, bool reversed, const char* op)
      : firsts_(list(tables, reversed), op), taps_(taps_list_, op) {
    view.taps = taps_.data();
    for (int d = 0; d < 3; d++) view.first[d] = firsts_.data() + starts_[d];
  }
  Taps view;

 private:
  std::span<const int> list(const std::array<ops::TapTable, 3>& tables, bool reversed) {
    for (int d = 0; d < 3; d++) {
      const ops::TapTable& table = tables[d];
      std::vector<std::vector<DeviceTap>> lists(static_cast<size_t>(reversed ? table.in : table.out));
      for (int64_t o = 0; o < table.out; o++)
        for (int i = 0; i < table.taps; i++) {
          const ops::Tap& tap = table.at(o)[i];
          auto at = static_cast<size_t>(reversed ? tap.position : o);
          lists[at].push_back({static_cast<int>(reversed ? o : tap.position), tap.weight});
        }
      starts_[d] = firsts_list_.size();
      for (const auto& one : lists) {
        firsts_list_.push_back(static_cast<int>(taps_list_.size()));
        taps_list_.insert(taps_list_.end(), one.begin(), one.end());
      }
      firsts_list_.push_back(static_cast<int>(taps_list_.size()));
    }
    return firsts_list_;
  }
  size_t starts_[3];
  std::vector<int> firsts_list_;
  std::vector<DeviceTap> taps_list_;
  Uploaded<int> firsts_;
  Uploaded<DeviceTap> taps_;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    resample_kernel(Planes in, Planes out, Taps t, const stored_t<T>* x, stored_t<T>* y) {
  using C = compute_t<T>;
  int64_t element = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= out.count) return;
  Place p = out.place(element);
  const stored_t<T>* plane = x + in.plane(p);
  int first[3], last[3];
  TW_UNROLL
  for (int d = 0; d < 3; d++) {
    first[d] = t.first[d][p.at[d]];
    last[d] = t.first[d][p.at[d] + 1];
  }
  C sum = 0;
  for (int i = first[0]; i < last[0]; i++)
    for (int j = first[1]; j < last[1]; j++) {
      double outer = t.taps[i].weight * t.taps[j].weight;
      for (int k = first[2]; k < last[2]; k++) {
        int64_t at = in.within(t.taps[i].position, t.taps[j].position, t.taps[k].position);
        sum += static_cast<C>(outer * t.taps[k].weight) * load<T>(plane[at]);
      }
    }
  y[out.offset(p)] = store<T>(sum);
}

struct BytePass {
  int64_t count, in, out, inner;  // x [outer, in, inner] to y [outer, out, inner]
  int taps, bits;
  const int *positions, *weights;
};

__global__ void __launch_bounds__(kThreads) resample_bytes_kernel(BytePass p, const uint8_t* x, uint8_t* y) {
  int64_t element = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= p.count) return;
  int64_t inner = element % p.inner, o = element / p.inner % p.out, outer = element / p.inner / p.out;
  const int *weights = p.weights + o * p.taps, *positions = p.positions + o * p.taps;
  y[element] = ops::resampled_byte(
      p.taps, p.bits, [&](int64_t tap) { return weights[tap]; },
      [&](int64_t tap) { return x[(outer * p.in + positions[tap]) * p.inner + inner]; });
}

unsigned blocks_for(int64_t tasks) { return static_cast<unsigned>((tasks + kThreads - 1) / kThreads); }

void resample_bytes(const KernelContext& k, const std::array<ops::TapTable, 3>& tables) {
  Dense<uint8_t> given(k.in(0), k.op);
  const uint8_t* from = given.data();
  int64_t planes = k.out().size(0) * k.out().size(1), inner = 1;
  int64_t sizes[] = {tables[0].in, tables[1].in, tables[2].in};
  std::unique_ptr<DeviceScratch> memory;
  for (int d = 2; d >= 0; inner *= tables[d].out, d--) {
    const ops::TapTable& table = tables[d];
    if (table.in == table.out) continue;
    ops::ByteTable bytes(table);
    std::vector<int> positions;
    for (const ops::Tap& tap : table.all) positions.push_back(static_cast<int>(tap.position));
    Uploaded<int> places(positions, k.op), weights(bytes.weights, k.op);
    sizes[d] = table.out;
    int64_t count = planes * sizes[0] * sizes[1] * sizes[2];
    auto next = std::make_unique<DeviceScratch>(static_cast<size_t>(count));
    launch(k.op, resample_bytes_kernel, {blocks_for(count), kThreads},
           BytePass{count, table.in, table.out, inner, table.taps, bytes.bits, places.data(), weights.data()},
           from, next->as<uint8_t>());
    memory = std::move(next);
    from = memory->as<uint8_t>();
  }
  Dims strides = contiguous_strides(*k.out().sizes);
  copy_cast(k.out(), {const_cast<uint8_t*>(from), k.out().sizes, &strides, DType::kUInt8}, k.op);
}

void run(const KernelContext& k, const std::array<ops::TapTable, 3>& tables, bool reversed) {
  if (k.out().count() == 0) return;
  TapLists lists(tables, reversed, k.op);
  Planes in = make_planes(k.in(0), k.op), out = make_planes(k.out(), k.op);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    launch(k.op, resample_kernel<T>, {blocks_for(out.count), kThreads}, in, out, lists.view,
           k.in(0).as<const stored_t<T>>(), k.out().as<stored_t<T>>());
  });
}

void forward_kernel(KernelContext& k) {
  auto tables = ops::make_tap_tables(*k.in(0).sizes, *k.out().sizes, k.attrs<ops::ResampleAttrs>());
  if (k.out().dtype == DType::kUInt8) return resample_bytes(k, tables);
  run(k, tables, false);
}
void backward_kernel(KernelContext& k) {
  run(k, ops::make_tap_tables(*k.out().sizes, *k.in(0).sizes, k.attrs<ops::ResampleAttrs>()), true);
}

}  // namespace

void kernels_resample(device::KernelTable& table) {
  table.add("resample", forward_kernel);
  table.add("resample_backward", backward_kernel);
}

}  // namespace tw::cuda
