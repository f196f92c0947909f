// Each dim has a table of taps (positions and weights) for each output position; a plane is the product of
// the tables. Planes are shared among threads. Floor: the bytes of input and output over the bandwidth, or 2
// flops a tap.
#include "ops/resample/resample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "device/cpu/contiguous.h"
#include "device/cpu/parallel.h"

namespace tw::ops {

using namespace device;

namespace {

struct Tap {
  int64_t position;
  double weight;
};

// `taps` of them for each output position, one after the other.
struct Table {
  int taps = 1;
  std::vector<Tap> all{{0, 1.0}};
  int64_t in = 1, out = 1;

  const Tap* at(int64_t o) const { return all.data() + o * taps; }
};

// The same in float as the indices are wanted: a product rounded otherwise would pick a neighbour.
int64_t nearest_position(int64_t o, float step, bool exact, int64_t size) {
  float at = exact ? (static_cast<float>(o) + 0.5f) * step : static_cast<float>(o) * step;
  return std::min(static_cast<int64_t>(std::floor(at)), size - 1);
}

void cubic_weights(double t, double* weights) {
  constexpr double a = -0.75;
  auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = far(t + 1);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

Table make_table(int64_t in, int64_t out, const ResampleAttrs& a, double scale) {
  Table table;
  table.in = in;
  table.out = out;
  table.all.clear();
  double ratio = static_cast<double>(in) / static_cast<double>(out), given = scale > 0 ? 1 / scale : ratio;
  bool nearest = a.mode == "nearest" || a.mode == "nearest-exact";
  double step = given;
  if (a.align_corners && !nearest)
    step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  table.taps = nearest ? 1 : a.mode == "linear" ? 2 : 4;
  float narrow_step =
      scale > 0 ? static_cast<float>(given) : static_cast<float>(in) / static_cast<float>(out);
  for (int64_t o = 0; o < out; o++) {
    if (nearest) {
      table.all.push_back({nearest_position(o, narrow_step, a.mode == "nearest-exact", in), 1.0});
      continue;
    }
    double at = a.align_corners ? step * static_cast<double>(o) : step * (static_cast<double>(o) + 0.5) - 0.5;
    if (a.mode == "linear") {
      at = std::max(at, 0.0);
      int64_t left = std::min(static_cast<int64_t>(at), in - 1);
      double weight = std::clamp(at - static_cast<double>(left), 0.0, 1.0);
      table.all.push_back({left, 1 - weight});
      table.all.push_back({std::min(left + 1, in - 1), weight});
    } else {
      double floor = std::floor(at), weights[4];
      cubic_weights(at - floor, weights);
      for (int64_t i = 0; i < 4; i++)
        table.all.push_back(
            {std::clamp<int64_t>(static_cast<int64_t>(floor) - 1 + i, 0, in - 1), weights[i]});
    }
  }
  return table;
}

// Leading tables stand for one element where there are fewer than three dims.
std::array<Table, 3> make_tables(const Dims& in, const Dims& out, const ResampleAttrs& a) {
  std::array<Table, 3> tables;
  size_t dims = in.size() - 2;
  for (size_t i = 0; i < dims; i++)
    tables[3 - dims + i] = make_table(in[i + 2], out[i + 2], a, a.scales.empty() ? 0.0 : a.scales[i]);
  return tables;
}

// Calls f(output position, input position, weight) for all taps of a plane, those of an output position in a
// run.
template <class C, class F>
void for_taps_of_plane(const std::array<Table, 3>& t, F f) {
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

// Bytes are resampled dim by dim, the last one first, and rounded after each, as image libraries and PyTorch
// do. The weights are whole numbers of 2^-bits, of as many bits as leave the largest below 2^15.
struct ByteTable {
  const Table* table;
  int bits = 0;
  std::vector<int32_t> weights;  // as the table's taps; those that the edge puts in one place are added up

  explicit ByteTable(const Table& from) : table(&from) {
    std::vector<double> exact;
    for (int64_t o = 0; o < from.out; o++)
      for (int i = 0; i < from.taps; i++) {
        const Tap* taps = from.at(o);
        int first = 0;
        while (taps[first].position != taps[i].position) first++;
        exact.push_back(0);
        exact[static_cast<size_t>(o * from.taps + first)] += taps[i].weight;
      }
    double largest = *std::max_element(exact.begin(), exact.end());
    while (bits < 22 && std::floor(0.5 + largest * (1 << (bits + 1))) < (1 << 15)) bits++;
    for (double w : exact)
      weights.push_back(static_cast<int32_t>(std::trunc(w * (1 << bits) + (w < 0 ? -0.5 : 0.5))));
  }

  // x [outer, in, inner] to y [outer, out, inner].
  void apply(const uint8_t* x, uint8_t* y, int64_t outer, int64_t inner) const {
    const int64_t in = table->in, out = table->out, taps = table->taps;
    for (int64_t a = 0; a < outer; a++)
      for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < inner; i++) {
          int32_t sum = 1 << (bits - 1);
          for (int64_t tap = 0; tap < taps; tap++)
            sum += weights[static_cast<size_t>(o * taps + tap)] *
                   x[(a * in + table->at(o)[tap].position) * inner + i];
          y[(a * out + o) * inner + i] = static_cast<uint8_t>(std::clamp(sum >> bits, 0, 255));
        }
  }
};

void resample_bytes(const Operand& in, const Operand& out, const std::array<Table, 3>& tables) {
  const int64_t planes = out.size(0) * out.size(1);
  int64_t from = 1, to = 1;
  std::vector<ByteTable> passes;
  for (const Table& table : tables) {
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
        passes[d].apply(now.data(), next.data(), outer, inner);
        std::swap(now, next);
      }
      std::copy(now.begin(), now.end(), out.as<uint8_t>() + plane * to);
    }
  });
}

void resample_kernel(KernelContext& k) {
  auto tables = make_tables(*k.in(0).sizes, *k.out().sizes, k.attrs<ResampleAttrs>());
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
  auto tables = make_tables(*k.out().sizes, *k.in(0).sizes, k.attrs<ResampleAttrs>());
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
