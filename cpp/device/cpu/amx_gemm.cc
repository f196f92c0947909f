#include "device/cpu/amx_gemm.h"

#include <algorithm>

#include "device/cpu/amx_pack.h"
#include "device/cpu/parallel.h"
#include "device/cpu/scratch.h"

#ifdef TW_HAS_AMX
#include <immintrin.h>
#endif

namespace tw::device::amx {

#ifdef TW_HAS_AMX

namespace {

constexpr int64_t kInnerSlice =
    256;  // a panel, 48 KiB, and the sums of a slice stay in the first-level cache
constexpr int64_t kColumnSlice = 768;   // the packed right operand, 1.1 MiB, stays in the second-level cache
constexpr int64_t kColumnChunk = 256;   // what is cut among threads, and what BLAS does where it must
constexpr double kFlopsPerPiece = 4e6;  // some 20 µs of work

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// A thread's tile registers are in use while this lives.
class TileScope {
 public:
  TW_AMX TileScope() {
    static constexpr TileConfig config;
    _tile_loadconfig(&config);
  }
  TW_AMX ~TileScope() { _tile_release(); }
};

// Where 32 x 32 sums begin and where they go.
struct Target {
  float* data;
  int64_t stride;  // bytes
};

#define TW_LOAD_SUMS(from)                                                     \
  _tile_loadd(0, from.data, from.stride);                                      \
  _tile_loadd(1, from.data + 16, from.stride);                                 \
  _tile_loadd(2, from.data + 16 * (from.stride / sizeof(float)), from.stride); \
  _tile_loadd(3, from.data + 16 * (from.stride / sizeof(float)) + 16, from.stride)
#define TW_STORE_SUMS(to)                                                 \
  _tile_stored(0, to.data, to.stride);                                    \
  _tile_stored(1, to.data + 16, to.stride);                               \
  _tile_stored(2, to.data + 16 * (to.stride / sizeof(float)), to.stride); \
  _tile_stored(3, to.data + 16 * (to.stride / sizeof(float)) + 16, to.stride)
#define TW_LOAD_LEFT(part)                        \
  _tile_loadd(4, left + (part) * kPartBytes, 64); \
  _tile_loadd(5, left + (part) * kPartBytes + kTileBytes, 64)
#define TW_LOAD_RIGHT(part)                        \
  _tile_loadd(6, right + (part) * kPartBytes, 64); \
  _tile_loadd(7, right + (part) * kPartBytes + kTileBytes, 64)
#define TW_MULTIPLY        \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7)

// Adds a panel of 32 rows times a panel of 32 columns to sums that begin at zero or at what lies in `to`. The
// six products of parts are in an order that needs few loads.
TW_AMX void multiply_panels(const char* left, const char* right, int64_t blocks, bool from_zero, Target to) {
  if (from_zero) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    TW_LOAD_SUMS(to);
  }
  for (; blocks > 0; blocks--, left += kBlockBytes, right += kBlockBytes) {
    TW_LOAD_LEFT(0);
    TW_LOAD_RIGHT(2);
    TW_MULTIPLY;
    TW_LOAD_RIGHT(1);
    TW_MULTIPLY;
    TW_LOAD_LEFT(1);
    TW_MULTIPLY;
    TW_LOAD_RIGHT(0);
    TW_MULTIPLY;
    TW_LOAD_LEFT(2);
    TW_MULTIPLY;
    TW_LOAD_LEFT(0);
    TW_MULTIPLY;
  }
  TW_STORE_SUMS(to);
}

TW_AMX void add_scaled(const float* sums, int64_t rows, int64_t columns, float alpha, float beta, float* c,
                       int64_t c_stride) {
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t first = 0; first < columns; first += 16) {
      auto lanes = static_cast<__mmask16>((1u << std::min<int64_t>(16, columns - first)) - 1);
      float* out = c + i * c_stride + first;
      __m512 value = _mm512_mul_ps(_mm512_set1_ps(alpha), _mm512_load_ps(sums + i * kOuters + first));
      if (beta != 0) value = _mm512_fmadd_ps(_mm512_set1_ps(beta), _mm512_maskz_loadu_ps(lanes, out), value);
      _mm512_mask_storeu_ps(out, lanes, value);
    }
  }
}

// The product of a slice of inner indices and of columns: what is cut among threads once the right operand is
// packed.
struct Slice {
  int64_t m, n, k;
  float alpha;
  Matrix<float> a, b;
  float beta;
  float* c;
  int64_t c_stride;
  char* right;                   // packed panels of b
  Magnitudes* right_magnitudes;  // of each

  int64_t blocks() const { return ceil_div(k, kInners); }
  int64_t chunks() const { return ceil_div(n, kColumnChunk); }
  int64_t row_panels() const { return ceil_div(m, kOuters); }
};

void pack_right_panels(const Slice& s) {
  int64_t panels = ceil_div(s.n, kOuters);
  int64_t grain = std::max<int64_t>(1, (int64_t{1} << 16) / (kOuters * s.k));
  parallel_for(0, panels, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
      const float* data = s.b.data + i * kOuters * s.b.column_stride;
      s.right_magnitudes[i] =
          pack_right({data, s.b.column_stride, s.b.row_stride}, std::min<int64_t>(kOuters, s.n - i * kOuters),
                     s.k, s.right + i * panel_bytes(s.k));
    }
  });
}

// Powers of two as the bits of floats.
constexpr uint32_t exponent_bits(int exponent) { return static_cast<uint32_t>(exponent + 127) << 23; }

// Whether neither sums overflow nor denormals matter. With rows of at least 2^-80 whose products are at least
// 2^-84, what the unit drops is below k · 2^-39 of the largest product of a row and a column.
bool in_range(const Magnitudes& left, const Magnitudes& right) {
  constexpr uint32_t large = exponent_bits(60), small = exponent_bits(-80);
  if (std::max(left.largest, right.largest) >= large) return false;
  if (std::min(left.smallest_row, right.smallest_row) < small) return false;
  if (left.largest == 0 || right.largest == 0) return true;
  int exponents = static_cast<int>(left.smallest_row >> 23) + static_cast<int>(right.smallest_row >> 23);
  return exponents - 2 * 127 >= -84;
}

// 32 rows times a chunk of columns, from a packed left panel.
TW_AMX void multiply_chunk(const Slice& s, const char* left, int64_t row, int64_t column) {
  alignas(64) float sums[kOuters * kOuters];
  int64_t rows = std::min<int64_t>(kOuters, s.m - row);
  bool direct = rows == kOuters && s.alpha == 1 && (s.beta == 0 || s.beta == 1);
  for (int64_t end = std::min(column + kColumnChunk, s.n); column < end; column += kOuters) {
    const char* right = s.right + column / kOuters * panel_bytes(s.k);
    float* c = s.c + row * s.c_stride + column;
    if (direct && s.n - column >= kOuters) {
      multiply_panels(left, right, s.blocks(), s.beta == 0,
                      {c, s.c_stride * static_cast<int64_t>(sizeof(float))});
    } else {
      multiply_panels(left, right, s.blocks(), true, {sums, kOuters * sizeof(float)});
      add_scaled(sums, rows, std::min<int64_t>(kOuters, s.n - column), s.alpha, s.beta, c, s.c_stride);
    }
  }
}

void blas_chunk(const Slice& s, int64_t row, int64_t column) {
  blas_gemm<float>(std::min<int64_t>(kOuters, s.m - row), std::min(kColumnChunk, s.n - column), s.k, s.alpha,
                   {s.a.data + row * s.a.row_stride, s.a.row_stride, s.a.column_stride},
                   {s.b.data + column * s.b.column_stride, s.b.row_stride, s.b.column_stride}, s.beta,
                   s.c + row * s.c_stride + column, s.c_stride);
}

// Chunks [first, last) in the order of row panels, each of which is packed when it is reached.
void run_chunks(const Slice& s, const Magnitudes* of_chunks, int64_t first, int64_t last) {
  Scratch left(static_cast<size_t>(panel_bytes(s.k)));
  TileScope tiles;
  int64_t packed = -1;
  Magnitudes of_left;
  for (int64_t i = first; i < last; i++) {
    int64_t panel = i / s.chunks(), chunk = i % s.chunks(), row = panel * kOuters;
    if (panel != packed) {
      packed = panel;
      of_left = pack_left({s.a.data + row * s.a.row_stride, s.a.row_stride, s.a.column_stride},
                          std::min<int64_t>(kOuters, s.m - row), s.k, left.as<char>());
    }
    if (in_range(of_left, of_chunks[chunk]))
      multiply_chunk(s, left.as<char>(), row, chunk * kColumnChunk);
    else
      blas_chunk(s, row, chunk * kColumnChunk);
  }
}

void run_slice(const Slice& s) {
  pack_right_panels(s);
  Magnitudes of_chunks[kColumnSlice / kColumnChunk];
  for (int64_t i = 0; i < ceil_div(s.n, kOuters); i++)
    of_chunks[i * kOuters / kColumnChunk].include(s.right_magnitudes[i]);
  double flops = 2.0 * kOuters * static_cast<double>(std::min(kColumnChunk, s.n)) * static_cast<double>(s.k);
  parallel_for(0, s.row_panels() * s.chunks(),
               std::max<int64_t>(1, static_cast<int64_t>(kFlopsPerPiece / flops)),
               [&](int64_t first, int64_t last) { run_chunks(s, of_chunks, first, last); });
}

}  // namespace

bool pays(int64_t m, int64_t n, int64_t k) {
  // Packing an element costs as much as some 60 flops; and the unit may take a while to come to its full
  // speed.
  return std::min({m, n, k}) >= 128 && m * n * k >= (int64_t{1} << 24) && available();
}

void gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
          float* c, int64_t c_stride) {
  int64_t inner_slice = round_up(ceil_div(k, ceil_div(k, kInnerSlice)), kInners);
  int64_t column_slice =
      std::min(kColumnSlice, round_up(ceil_div(n, ceil_div(n, kColumnSlice)), kColumnChunk));
  int64_t panels = ceil_div(std::min(column_slice, n), kOuters);
  Scratch right(static_cast<size_t>(panels * panel_bytes(std::min(inner_slice, k))));
  Magnitudes magnitudes[kColumnSlice / kOuters];
  for (int64_t column = 0; column < n; column += column_slice) {
    for (int64_t inner = 0; inner < k; inner += inner_slice) {
      run_slice({m,
                 std::min(column_slice, n - column),
                 std::min(inner_slice, k - inner),
                 alpha,
                 {a.data + inner * a.column_stride, a.row_stride, a.column_stride},
                 {b.data + inner * b.row_stride + column * b.column_stride, b.row_stride, b.column_stride},
                 inner == 0 ? beta : 1.0f,
                 c + column,
                 c_stride,
                 right.as<char>(),
                 magnitudes});
    }
  }
}

#else

bool pays(int64_t, int64_t, int64_t) { return false; }
void gemm(int64_t, int64_t, int64_t, float, Matrix<float>, Matrix<float>, float, float*, int64_t) {}

#endif

}  // namespace tw::device::amx
