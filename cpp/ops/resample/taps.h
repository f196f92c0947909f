// The taps of resample, which the host finds for all devices: for each dim a table of the positions and
// weights that an output position is made of; a plane is the product of the tables.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/formula.h"
#include "ops/resample/resample.h"

namespace tw::ops {

struct Tap {
  int64_t position;
  double weight;
};

// `taps` of them for each output position, one after the other.
struct TapTable {
  int taps = 1;
  std::vector<Tap> all{{0, 1.0}};
  int64_t in = 1, out = 1;

  const Tap* at(int64_t o) const { return all.data() + o * taps; }
};

// The same in float as the indices are wanted: a product rounded otherwise would pick a neighbour.
inline int64_t nearest_position(int64_t o, float step, bool exact, int64_t size) {
  float at = exact ? (static_cast<float>(o) + 0.5f) * step : static_cast<float>(o) * step;
  return std::min(static_cast<int64_t>(std::floor(at)), size - 1);
}

inline void cubic_weights(double t, double* weights) {
  constexpr double a = -0.75;
  auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = far(t + 1);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

inline TapTable make_tap_table(int64_t in, int64_t out, const ResampleAttrs& a, double scale) {
  TapTable table;
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
inline std::array<TapTable, 3> make_tap_tables(const Dims& in, const Dims& out, const ResampleAttrs& a) {
  std::array<TapTable, 3> tables;
  size_t dims = in.size() - 2;
  for (size_t i = 0; i < dims; i++)
    tables[3 - dims + i] = make_tap_table(in[i + 2], out[i + 2], a, a.scales.empty() ? 0.0 : a.scales[i]);
  return tables;
}

// Bytes are resampled dim by dim, the last one first, and rounded after each, as image libraries and PyTorch
// do. The weights are whole numbers of 2^-bits, of as many bits as leave the largest below 2^15.
struct ByteTable {
  const TapTable* table;
  int bits = 0;
  std::vector<int32_t> weights;  // as the table's taps; those that the edge puts in one place are added up

  explicit ByteTable(const TapTable& from) : table(&from) {
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
};

// The byte that `taps` of weight(tap) · value(tap) come to.
template <class Weight, class Value>
TW_FORMULA uint8_t resampled_byte(int64_t taps, int bits, Weight weight, Value value) {
  int32_t sum = 1 << (bits - 1);
  for (int64_t tap = 0; tap < taps; tap++) sum += weight(tap) * value(tap);
  sum >>= bits;
  return static_cast<uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

}  // namespace tw::ops
