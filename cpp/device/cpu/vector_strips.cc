#include "device/cpu/vector_strips.h"

#include <algorithm>

namespace tw::device::vector {

#if defined(__x86_64__)

namespace {

struct Range {
  int64_t begin, end;
};

// Rows [first, last) of a strip, columns from panel to panel.
void multiply_strip(const StripProduct& p, Range rows, int64_t columns, Range inners) {
  bool neighbours = p.row_side.inner != 1;
  Tile tile{.inners = inners.end - inners.begin,
            .rows = p.row_side.at(rows.begin, inners.begin).data,
            .rows_step = neighbours ? p.row_side.inner : p.row_side.outer,
            .columns = nullptr,
            .columns_step = p.panels_step,
            .alpha = p.alpha,
            .start = nullptr,
            .start_step = p.out_step,
            .out = nullptr,
            .out_step = p.out_step,
            .lanes = 0};
  Ahead nothing;
  for (int64_t j = 0; j < columns; j += kPanel) {
    tile.columns = p.panels + j / kPanel * p.panel_distance + inners.begin * p.panels_step;
    tile.out = p.out + rows.begin * p.out_step + j;
    tile.start = p.add ? tile.out : nullptr;
    int64_t count = std::min<int64_t>(kPanel, columns - j);
    tile.lanes = static_cast<uint32_t>((uint64_t{1} << count) - 1);
    run_tile(static_cast<int>(rows.end - rows.begin), count > kLanes, neighbours, tile, nothing);
  }
}

}  // namespace

void multiply_strips(const StripProduct& p, Seen seen) {
  int64_t strips = (p.rows + kMostRows - 1) / kMostRows;
  for (int64_t i = 0; i < strips; i++) {
    Range rows{p.rows * i / strips, p.rows * (i + 1) / strips}, inners{0, p.inners};
    int64_t columns = p.columns, up_to = rows.end + seen.offset;
    if (seen.what == Seen::kColumnsUpTo) columns = std::clamp<int64_t>(up_to, 0, columns);
    if (seen.what == Seen::kInnersUpTo) inners.end = std::clamp<int64_t>(up_to, 0, inners.end);
    if (seen.what == Seen::kInnersFrom)
      inners.begin = std::clamp<int64_t>(rows.begin - seen.offset, 0, inners.end);
    multiply_strip(p, rows, columns, inners);
  }
}

void pack_panels(const Side& from, int64_t columns, int64_t inners, float* to) {
  for (int64_t j = 0; j < columns; j += kPanel, to += kPanel * inners)
    pack_columns(from.at(j, 0), std::min<int64_t>(kPanel, columns - j), inners, kPanel, to);
}

#else

void multiply_strips(const StripProduct&, Seen) {}
void pack_panels(const Side&, int64_t, int64_t, float*) {}

#endif

}  // namespace tw::device::vector
