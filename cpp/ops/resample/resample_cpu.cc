// Planes are shared among threads. Floor: the bytes of input and output over the bandwidth, or 2 flops a tap.
#include "device/cpu/contiguous.h"
#include "device/cpu/parallel.h"
#include "ops/resample/taps.h"

namespace tw::ops {

using namespace device;

namespace {

// Calls f(output position, input position, weight) for all taps of a plane, those of an output position in a
// run.
template <class C, class F>
void for_taps_of_plane(const std::array<TapTable, 3>& t, F f) {
  int64_t o = 0;
  for (int64_t i = 0; i < t[0].out; i++)
    for (int64_t j = 0; j < t[1].out; j++)
      for (int64_t k = 0; k < t[2].out; k++, o++)
        for (int a = 0; a < t[0].taps; a++)
          for (int b = 0; b < t[1].taps; b++) {
            const Tap &x = t[0].at(i)[a], &y = t[1].at(j)[b];
            int64_t row = (x.position * t[1].in + y.position) * t[2].in;
            const Tap* last = t[2].at(k);
            for (int c = 0; c < t[2].taps; c++)
              f(o, row + last[c].position, static_cast<C>(x.weight * y.weight * last[c].weight));
          }
}

// Planes of `count` elements each, collected in the type of arithmetic and then stored.
template <class T, class C, class F>
void collect_planes(const Operand& out, int64_t planes, int64_t count, F fill) {
  parallel_for(0, planes, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, count)),
               [&](int64_t first, int64_t last) {
                 Scratch sums(static_cast<size_t>(count) * sizeof(C));
                 for (int64_t plane = first; plane < last; plane++) {
                   std::fill_n(sums.as<C>(), count, C(0));
                   fill(plane, sums.as<C>());
                   T* y = out.as<T>() + plane * count;
                   for (int64_t i = 0; i < count; i++) y[i] = store<T>(sums.as<C>()[i]);
                 }
               });
}

// x [outer, in, inner] to y [outer, out, inner].
void resample_dim(const ByteTable& bytes, const uint8_t* x, uint8_t* y, int64_t outer, int64_t inner) {
  const int64_t in = bytes.table->in, out = bytes.table->out, taps = bytes.table->taps;
  for (int64_t a = 0; a < outer; a++)
    for (int64_t o = 0; o < out; o++)
      for (int64_t i = 0; i < inner; i++)
        y[(a * out + o) * inner + i] = resampled_byte(
            taps, bytes.bits, [&](int64_t tap) { return bytes.weights[static_cast<size_t>(o * taps + tap)]; },
            [&](int64_t tap) { return x[(a * in + bytes.table->at(o)[tap].position) * inner + i]; });
}

void resample_bytes(const Operand& in, const Operand& out, const std::array<TapTable, 3>& tables) {
  const int64_t planes = out.size(0) * out.size(1);
  int64_t from = 1, to = 1;
  std::vector<ByteTable> passes;
  for (const TapTable& table : tables) {
    from *= table.in, to *= table.out;
    passes.emplace_back(table);
  }
  Contiguous<uint8_t> input(in);
  parallel_for(0, planes, std::max<int64_t>(1, (1 << 13) / to), [&](int64_t first, int64_t last) {
    std::vector<uint8_t> now, next;
    for (int64_t plane = first; plane < last; plane++) {
      now.assign(input.data() + plane * from, input.data() + (plane + 1) * from);
      int64_t inner = 1;
      for (size_t d = 3; d-- > 0; inner *= tables[d].out) {
        if (tables[d].in == tables[d].out) continue;
        int64_t outer = static_cast<int64_t>(now.size()) / (tables[d].in * inner);
        next.resize(static_cast<size_t>(outer * tables[d].out * inner));
        resample_dim(passes[d], now.data(), next.data(), outer, inner);
        std::swap(now, next);
      }
      std::copy(now.begin(), now.end(), out.as<uint8_t>() + plane * to);
    }
  });
}

void resample_kernel(KernelContext& k) {
  auto tables = make_tap_tables(*k.in(0).sizes, *k.out().sizes, k.attrs<ResampleAttrs>());
  int64_t planes = k.out().size(0) * k.out().size(1), from = tables[0].in * tables[1].in * tables[2].in;
  int64_t to = tables[0].out * tables[1].out * tables[2].out;
  if (k.out().dtype == DType::kUInt8) return resample_bytes(k.in(0), k.out(), tables);
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Contiguous<T> input(k.in(0));
    collect_planes<T, C>(k.out(), planes, to, [&](int64_t plane, C* y) {
      const T* x = input.data() + plane * from;
      for_taps_of_plane<C>(tables,
                           [&](int64_t o, int64_t i, C weight) { y[o] += weight * static_cast<C>(x[i]); });
    });
  });
}

void resample_backward_kernel(KernelContext& k) {
  auto tables = make_tap_tables(*k.out().sizes, *k.in(0).sizes, k.attrs<ResampleAttrs>());
  int64_t planes = k.out().size(0) * k.out().size(1), to = tables[0].in * tables[1].in * tables[2].in;
  int64_t from = tables[0].out * tables[1].out * tables[2].out;
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    using C = compute_t<T>;
    Contiguous<T> grad(k.in(0));
    collect_planes<T, C>(k.out(), planes, to, [&](int64_t plane, C* x) {
      const T* g = grad.data() + plane * from;
      for_taps_of_plane<C>(tables,
                           [&](int64_t o, int64_t i, C weight) { x[i] += weight * static_cast<C>(g[o]); });
    });
  });
}

}  // namespace

void kernels_resample(KernelTable& table) {
  table.add("resample", resample_kernel);
  table.add("resample_backward", resample_backward_kernel);
}

}  // namespace tw::ops
