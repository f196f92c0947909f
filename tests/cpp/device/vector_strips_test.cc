// Products by strips against sums in double: factors as they lie and packed, whole and ragged, and triangles,
// where the processor has AVX-512.
#include "device/cpu/vector_strips.h"

#include "device/matrices.h"
#include "test.h"

namespace tw::device::vector {

namespace {

struct Sizes {
  int64_t rows, columns, inners;
};
const std::vector<Sizes> kSizes = {{1, 1, 1},     {14, 32, 8},   {15, 70, 33},
                                   {64, 64, 200}, {64, 200, 64}, {3, 96, 130}};

constexpr float kUntouched = 0.5f;

// Whether a strip's row must have (i, j), and whether inner index l takes part in it, at least.
bool reads(Seen seen, int64_t i, int64_t j, int64_t l) {
  switch (seen.what) {
    case Seen::kColumnsUpTo:
      return j <= i + seen.offset;
    case Seen::kInnersUpTo:
      return l <= i + seen.offset;
    case Seen::kInnersFrom:
      return l >= i - seen.offset;
    default:
      return true;
  }
}

// `turned`: the row side by columns. Its numbers are zero where nobody reads them, as a triangle's are.
void check(const Sizes& s, bool turned, bool packed, bool add, Seen seen) {
  Stored a(s.rows, s.inners, turned, 1), b(s.inners, s.columns, packed, 2);
  bool of_inners = seen.what == Seen::kInnersUpTo || seen.what == Seen::kInnersFrom;
  for (int64_t i = 0; of_inners && i < s.rows; i++)
    for (int64_t l = 0; l < s.inners; l++)
      if (!reads(seen, i, 0, l)) a.at(i, l) = 0;
  int64_t panels = (s.columns + kPanel - 1) / kPanel;
  std::vector<float> memory(static_cast<size_t>(panels * kPanel * s.inners), NAN);
  Matrix<float> left = a.matrix(), right = b.matrix();
  StripProduct product{.rows = s.rows,
                       .columns = s.columns,
                       .inners = s.inners,
                       .row_side = {left.data, left.row_stride, left.column_stride},
                       .panels = memory.data(),
                       .panels_step = kPanel,
                       .panel_distance = kPanel * s.inners,
                       .alpha = 0.5f,
                       .out = nullptr,
                       .out_step = s.columns + 3,
                       .add = add};
  if (packed) {
    pack_panels({right.data, right.column_stride, right.row_stride}, s.columns, s.inners, memory.data());
  } else {
    product.panels = right.data;
    product.panels_step = s.columns;
    product.panel_distance = kPanel;
  }
  std::vector<float> out(static_cast<size_t>(s.rows * product.out_step), kUntouched);
  product.out = out.data();
  multiply_strips(product, seen);
  for (int64_t i = 0; i < s.rows; i++)
    for (int64_t j = 0; j < product.out_step; j++) {
      float got = out[static_cast<size_t>(i * product.out_step + j)];
      if (j >= s.columns) CHECK_EQ(got, kUntouched);
      if (j >= s.columns || !reads(seen, i, j, i)) continue;
      double sum = 0;
      for (int64_t l = 0; l < s.inners; l++) sum += static_cast<double>(a.at(i, l)) * b.at(l, j);
      CHECK_NEAR(got, 0.5 * sum + (add ? kUntouched : 0), 1e-5 * static_cast<double>(s.inners));
    }
}

}  // namespace

TEST(strips_are_products) {
  if (!has_avx512()) return;
  for (const Sizes& s : kSizes)
    for (bool turned : {false, true})
      for (bool add : {false, true}) {
        check(s, turned, true, add, {});
        if (s.columns % kPanel == 0) check(s, turned, false, add, {});
      }
}

TEST(strips_of_triangles_are_products) {
  if (!has_avx512()) return;
  for (const Sizes& s : kSizes)
    for (int64_t offset : {-40, -1, 0, 5, 300}) {
      check(s, false, true, false, {Seen::kColumnsUpTo, offset});
      check(s, false, true, true, {Seen::kInnersUpTo, offset});
      check(s, true, true, true, {Seen::kInnersFrom, offset});
    }
}

// Beyond the strip that reads them, columns are left alone.
TEST(strips_leave_out_what_nobody_reads) {
  if (!has_avx512()) return;
  Stored a(kMostRows, 8, false, 1), b(8, 4 * kPanel, true, 2);
  std::vector<float> panels(4 * kPanel * 8), out(kMostRows * 4 * kPanel, kUntouched);
  pack_panels({b.matrix().data, b.matrix().column_stride, 1}, 4 * kPanel, 8, panels.data());
  multiply_strips({kMostRows,
                   4 * kPanel,
                   8,
                   {a.data.data(), 8, 1},
                   panels.data(),
                   kPanel,
                   kPanel * 8,
                   1,
                   out.data(),
                   4 * kPanel,
                   false},
                  {Seen::kColumnsUpTo, 0});
  for (int64_t j = kMostRows; j < 4 * kPanel; j++) CHECK_EQ(out[static_cast<size_t>(j)], kUntouched);
  CHECK(out[0] != kUntouched);
}

}  // namespace tw::device::vector
