#include "device/cpu/rows.h"

#include <atomic>

#include "device/arrays.h"
#include "test.h"

namespace tw::device {

using test::Array;
using test::random_array;

namespace {

// out = in minus the row's first element, first = that element; the layouts are the caller's.
void check_rows(const Array& out, const Array& first, const Array& in, int dim) {
  int64_t n = in.sizes.empty() ? 1 : in.sizes[dim];
  std::vector<float> before;
  for (int64_t i = 0; i < in.count(); i++) before.push_back(in.get<float>(i));
  std::atomic<int64_t> rows{0}, row_sum{0};
  Operand out_op = out.operand(), first_op = first.operand(), in_op = in.operand();
  row_loop({&out_op, &first_op}, {&in_op}, dim, [&](int64_t row, char* const* data) {
    auto* to = reinterpret_cast<float*>(data[0]);
    auto* from = reinterpret_cast<const float*>(data[2]);
    float start = n > 0 ? from[0] : -1;
    *reinterpret_cast<float*>(data[1]) = start;
    for (int64_t i = 0; i < n; i++) to[i] = from[i] - start;
    rows++;
    row_sum += row;
  });
  int64_t inner = 1, outer = first.count();
  for (size_t d = dim + 1; d < in.sizes.size(); d++) inner *= in.sizes[d];
  CHECK_EQ(rows.load(), outer);
  CHECK_EQ(row_sum.load(), outer * (outer - 1) / 2);
  for (int64_t i = 0; i < in.count(); i++) {
    int64_t start = i / (inner * n) * inner * n + i % inner;
    CHECK_EQ(out.get<float>(i), before[i] - before[start]);
    CHECK_EQ(first.get<float>(i / (inner * n) * inner + i % inner), before[start]);
  }
}

Dims with_size(Dims sizes, int dim, int64_t size) {
  if (!sizes.empty()) sizes[dim] = size;
  return sizes;
}

}  // namespace

TEST(rows_along_every_dim) {
  for (Dims sizes :
       {Dims{7}, Dims{70, 30}, Dims{3, 40, 50}, Dims{2, 1, 5, 100}, Dims{4, 0, 3}, Dims{1, 20000}}) {
    for (int dim = 0; dim < static_cast<int>(sizes.size()); dim++) {
      if (sizes[dim] == 0) continue;
      check_rows(Array(DType::kFloat32, sizes), Array(DType::kFloat32, with_size(sizes, dim, 1)),
                 random_array<float>(sizes, 1), dim);
    }
  }
  check_rows(Array(DType::kFloat32, {}), Array(DType::kFloat32, {}), random_array<float>({}, 1), 0);
}

TEST(rows_of_views_and_in_place) {
  Array base = random_array<float>({30, 5, 80}, 1);
  for (int dim = 0; dim < 3; dim++) {
    Array view = base.permuted({2, 0, 1});
    check_rows(Array(DType::kFloat32, {5, 80, 30}).permuted({1, 2, 0}),
               Array(DType::kFloat32, with_size(view.sizes, dim, 1)), view, dim);
    check_rows(view, Array(DType::kFloat32, with_size(view.sizes, dim, 1)), view, dim);
    Array sliced = base.sliced(2, 3, 70, 2);
    check_rows(sliced, Array(DType::kFloat32, with_size(sliced.sizes, dim, 1)), sliced, dim);
  }
}

}  // namespace tw::device
