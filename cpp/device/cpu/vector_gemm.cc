// Which factor is the column side (vector_tile.h): a, where b has so many columns that it pays to turn the
// result's tiles round when they are stored; then nothing of b is packed. Else b.
//
// Two ways: with few columns these are packed whole, and threads share strips of rows, which tiles read where
// they are; else the few rows are packed whole, and threads share the panels of columns.
#include "device/cpu/vector_gemm.h"

#include <algorithm>

#include "device/cpu/parallel.h"
#include "device/cpu/scratch.h"

namespace tw::device {

#if defined(__x86_64__)

namespace {

using vector::Ahead;
using vector::kLanes;
using vector::kMostRows;
using vector::kPanel;
using vector::Side;
using vector::Tile;

constexpr int64_t kMostInners = 512;          // of a chain of sums
constexpr int64_t kFewPanels = 3;             // too few to pack rows for
constexpr int64_t kMostStrips = 7;            // of rows that are packed whole
constexpr double kFlopsPerPiece = 2e6;        // worth a thread, some 15 µs
constexpr int64_t kPackedPerPiece = 1 << 15;  // floats

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One of `count` parts of [0, length), nearly equal and beginning at multiples of `unit`.
struct Part {
  int64_t begin, size;
};
struct Parts {
  int64_t length, count, unit;
  int64_t begin(int64_t i) const { return i >= count ? length : ceil_div(length, unit) * i / count * unit; }
  Part operator[](int64_t i) const { return {begin(i), begin(i + 1) - begin(i)}; }
};

struct Sides {
  int64_t rows, columns, inners;
  Side row_side, column_side;
  bool turned;
};

Sides sides_of(const VectorProduct& p) {
  auto inner = [&](int64_t stride) { return p.k == 1 ? 1 : stride; };
  Side a{p.a.data, p.a.row_stride, inner(p.a.column_stride)};
  Side b{p.b.data, p.b.column_stride, inner(p.b.row_stride)};
  bool turned = p.n * p.k > p.m * p.k + p.m * p.n;
  if (turned) return {p.n, p.m, p.k, b, a, true};
  return {p.m, p.n, p.k, a, b, false};
}

// The memory of `count` rows or columns of a side, to be fetched in so many stretches.
Ahead ahead_of(const Side& side, int64_t count, int64_t inners, int64_t stretches) {
  constexpr int64_t kBytes = sizeof(float);
  auto lines = [](int64_t floats) { return ceil_div(floats * kBytes, 64) + 1; };
  Ahead ahead{.data = reinterpret_cast<const char*>(side.data)};
  bool by_rows = side.inner == 1;
  ahead.step = (by_rows ? side.outer : side.inner) * kBytes;
  ahead.rows = by_rows ? count : inners;
  ahead.lines = lines(by_rows ? inners : count);
  ahead.each = ceil_div(ahead.rows * ahead.lines, stretches);
  return ahead;
}

class Product {
 public:
  explicit Product(const VectorProduct& product)
      : p_(product),
        s_(sides_of(product)),
        strips_{s_.rows, ceil_div(s_.rows, kMostRows), 1},
        blocks_{s_.inners, ceil_div(s_.inners, kMostInners), kLanes} {}

  void run() { s_.columns <= kFewPanels* kPanel ? by_strips() : by_panels(); }

 private:
  // What tiles read of a side, from an inner index on: [inner][step], or [row][step] without `neighbours`.
  struct Packed {
    const float* data;
    int64_t step;
    bool neighbours = true;
    const float* at(int64_t l) const { return data + l * (neighbours ? step : 1); }
  };

  static double flops(int64_t rows, int64_t columns, int64_t inners) {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inners);
  }
  static int64_t grain(double flops) {
    return std::max<int64_t>(1, static_cast<int64_t>(kFlopsPerPiece / flops));
  }
  static int64_t width_of(int64_t columns) { return columns > kLanes ? kPanel : kLanes; }
  Part panel_of(int64_t j) const { return {j * kPanel, std::min<int64_t>(kPanel, s_.columns - j * kPanel)}; }

  void pack_columns(float* to) const {
    int64_t floats = kPanel * s_.inners;
    parallel_for(0, ceil_div(s_.columns, kPanel), std::max<int64_t>(1, kPackedPerPiece / floats),
                 [&](int64_t first, int64_t last) {
                   for (int64_t j = first; j < last; j++) pack_panel(panel_of(j), to + j * floats);
                 });
  }

  // What is read of a strip, fetched during `tiles` tiles.
  Ahead ahead_of_strip(int64_t strip, int64_t tiles) const {
    return ahead_of(s_.row_side.at(strips_.begin(strip), 0), strips_[strip].size, s_.inners,
                    tiles * ceil_div(s_.inners, vector::kStretch));
  }

  void by_strips() {
    int64_t panels = ceil_div(s_.columns, kPanel), panel_floats = kPanel * s_.inners;
    Scratch packed(static_cast<size_t>(panels * panel_floats) * sizeof(float));
    pack_columns(packed.as<float>());
    parallel_for(0, strips_.count, grain(flops(kMostRows, s_.columns, s_.inners)),
                 [&](int64_t first, int64_t last) {
                   for (int64_t i = first; i < last; i++) {
                     Part strip = strips_[i];
                     Packed rows = direct_rows(strip);
                     Ahead ahead;
                     if (i + 1 < last) ahead = ahead_of_strip(i + 1, panels);
                     for (int64_t j = 0; j < panels; j++) {
                       Part panel = panel_of(j);
                       Packed columns{packed.as<float>() + j * panel_floats, width_of(panel.size)};
                       s_.turned ? multiply_turned(strip, rows, panel, columns, ahead)
                                 : multiply(strip, rows, panel, columns, ahead);
                     }
                   }
                 });
  }

  void by_panels() {
    Scratch memory_of_rows(static_cast<size_t>(s_.rows * s_.inners + kLanes) * sizeof(float));
    Packed rows[kMostStrips];
    for (int64_t i = 0; i < strips_.count; i++)
      rows[i] = pack_rows(strips_[i], memory_of_rows.as<float>() + strips_.begin(i) * s_.inners);
    int64_t stretches = strips_.count * ceil_div(s_.inners, vector::kStretch);
    parallel_for(0, ceil_div(s_.columns, kPanel), grain(flops(s_.rows, kPanel, s_.inners)),
                 [&](int64_t first, int64_t last) {
                   Scratch memory(static_cast<size_t>(kPanel * s_.inners) * sizeof(float));
                   for (int64_t j = first; j < last; j++) {
                     Part panel = panel_of(j);
                     Packed columns = pack_panel(panel, memory.as<float>());
                     Ahead ahead;
                     if (Part next = panel_of(j + 1); j + 1 < last)
                       ahead = ahead_of(s_.column_side.at(next.begin, 0), next.size, s_.inners, stretches);
                     for (int64_t i = 0; i < strips_.count; i++)
                       multiply(strips_[i], rows[i], panel, columns, ahead);
                   }
                 });
  }

  Packed pack_panel(const Part& panel, float* memory) const {
    int64_t width = width_of(panel.size);
    vector::pack_columns(s_.column_side.at(panel.begin, 0), panel.size, s_.inners, width, memory);
    return {memory, width};
  }

  Packed pack_rows(const Part& strip, float* memory) const {
    vector::pack_rows(s_.row_side.at(strip.begin, 0), static_cast<int>(strip.size), s_.inners, memory);
    return {memory, strip.size};
  }

  Packed direct_rows(const Part& strip) const {
    Side from = s_.row_side.at(strip.begin, 0);
    bool by_rows = from.inner == 1;
    return {from.data, by_rows ? from.outer : from.inner, !by_rows};
  }

  // A tile over all inner indices, block after block. To the first sums `start` is added, where there is one.
  void multiply_blocks(const Part& strip, const Packed& rows, const Part& panel, const Packed& columns,
                       const float* start, int64_t start_step, float* to, int64_t step, Ahead& ahead) const {
    for (int64_t b = 0; b < blocks_.count; b++) {
      Part block = blocks_[b];
      Tile tile{.inners = block.size,
                .rows = rows.at(block.begin),
                .rows_step = rows.step,
                .columns = columns.at(block.begin),
                .columns_step = columns.step,
                .alpha = p_.alpha,
                .start = b > 0 ? to : start,
                .start_step = b > 0 ? step : start_step,
                .out = to,
                .out_step = step,
                .lanes = static_cast<uint32_t>((uint64_t{1} << panel.size) - 1)};
      vector::run_tile(static_cast<int>(strip.size), columns.step == kPanel, rows.neighbours, tile, ahead);
    }
  }

  void multiply(const Part& strip, const Packed& rows, const Part& panel, const Packed& columns,
                Ahead& ahead) const {
    float* to = p_.c + strip.begin * p_.c_stride + panel.begin;
    const float* start = p_.beta != 0 ? to : p_.bias ? p_.bias + panel.begin : nullptr;
    multiply_blocks(strip, rows, panel, columns, start, p_.beta != 0 ? p_.c_stride : 0, to, p_.c_stride,
                    ahead);
  }

  void multiply_turned(const Part& strip, const Packed& rows, const Part& panel, const Packed& columns,
                       Ahead& ahead) const {
    alignas(64) float sums[kMostRows * kPanel];
    float* to = p_.c + panel.begin * p_.c_stride + strip.begin;
    bool starts = p_.beta != 0 || p_.bias;
    for (int64_t r = 0; starts && r < strip.size; r++)
      for (int64_t j = 0; j < panel.size; j++)
        sums[r * kPanel + j] = p_.beta != 0 ? to[j * p_.c_stride + r] : p_.bias[strip.begin + r];
    multiply_blocks(strip, rows, panel, columns, starts ? sums : nullptr, kPanel, sums, kPanel, ahead);
    vector::store_turned(sums, static_cast<int>(strip.size), panel.size, to, p_.c_stride);
  }

  const VectorProduct& p_;
  Sides s_;
  Parts strips_, blocks_;
};

}  // namespace

bool vector_gemm_pays(int64_t m, int64_t n, int64_t k, const Matrix<float>& b) {
  bool transposed = k == 1 || b.row_stride == 1;
  return transposed && m > 1 && n > 1 && m <= kFewPanels * kPanel && vector::has_avx512();
}

void vector_gemm(const VectorProduct& product) {
  if (product.beta == 0 || product.beta == 1) return Product(product).run();
  VectorProduct scaled = product;
  scaled.beta = 1;
  for (int64_t i = 0; i < product.m; i++)
    for (int64_t j = 0; j < product.n; j++) product.c[i * product.c_stride + j] *= product.beta;
  Product(scaled).run();
}

#else

bool vector_gemm_pays(int64_t, int64_t, int64_t, const Matrix<float>&) { return false; }
void vector_gemm(const VectorProduct&) {}

#endif

}  // namespace tw::device
