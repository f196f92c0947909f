// Our own loops against sums in double, at whole and ragged tiles, where the processor has AVX-512.
#include "device/cpu/vector_gemm.h"

#include <limits>

#include "device/cpu/parallel.h"
#include "device/matrices.h"
#include "test.h"

namespace tw::device {

namespace {

struct Sizes {
  int64_t m, n, k;
};

// With and without turning tiles round, few and many columns, whole and ragged tiles, and more than one block
// of inner indices.
const std::vector<Sizes> kSizes = {{2, 2, 1},      {2, 3, 5},      {14, 32, 8},  {15, 33, 17},
                                   {64, 200, 600}, {64, 10, 512},  {96, 97, 64}, {64, 256, 64},
                                   {30, 7, 1500},  {50, 700, 530}, {96, 112, 30}};

std::vector<float> product(const Stored& a, const Stored& b, float alpha = 1, float beta = 0, int64_t gap = 0,
                           const float* bias = nullptr) {
  int64_t stride = b.columns + gap;
  std::vector<float> c(static_cast<size_t>(a.rows * stride), 0.5f);
  vector_gemm({a.rows, b.columns, a.columns, alpha, a.matrix(), b.matrix(), beta, c.data(), stride, bias});
  return c;
}

// Calls body(a, b) with factors of all sizes; a as it is and transposed.
template <class Body>
void with_factors(Body body) {
  for (const Sizes& s : kSizes)
    for (bool transposed : {false, true}) {
      Stored a(s.m, s.k, transposed, 1), b(s.k, s.n, true, 2);
      if (vector_gemm_pays(s.m, s.n, s.k, b.matrix())) body(a, b);
    }
}

}  // namespace

// In units of the sum of magnitudes, half a last bit of which is 6e-8.
TEST(vector_product_is_exact) {
  with_factors([](const Stored& a, const Stored& b) {
    Errors ours = errors(product(a, b), a, b);
    CHECK(ours.mean <= 4e-8);
    CHECK(ours.largest <= 3e-7);
  });
}

TEST(vector_product_scales_and_adds_into_strided_rows) {
  with_factors([](const Stored& a, const Stored& b) {
    std::vector<float> plain = product(a, b);
    for (auto [alpha, beta] : {std::pair{1.0f, 1.0f}, {2.0f, 0.0f}, {-0.5f, 3.0f}}) {
      std::vector<float> c = product(a, b, alpha, beta, 5);
      for (int64_t i = 0; i < a.rows; i++) {
        const float* row = c.data() + i * (b.columns + 5);
        for (int64_t j = 0; j < b.columns; j++) {
          float want = alpha * plain[static_cast<size_t>(i * b.columns + j)] + beta * 0.5f;
          CHECK_NEAR(row[j], want, 2e-5 * (1 + std::abs(want)));
        }
        for (int64_t j = b.columns; j < b.columns + 5; j++) CHECK_EQ(row[j], 0.5f);
      }
    }
  });
}

TEST(vector_product_adds_a_bias) {
  with_factors([](const Stored& a, const Stored& b) {
    Stored bias(1, b.columns, false, 3);
    std::vector<float> got = product(a, b, 1, 0, 0, bias.data.data()), plain = product(a, b);
    for (int64_t i = 0; i < a.rows * b.columns; i++) {
      float want = plain[static_cast<size_t>(i)] + bias.at(0, i % b.columns);
      CHECK_NEAR(got[static_cast<size_t>(i)], want, 1e-5 * (1 + std::abs(want)));
    }
  });
}

TEST(vector_product_does_not_depend_on_threads) {
  int before = num_threads();
  with_factors([](const Stored& a, const Stored& b) {
    set_num_threads(1);
    std::vector<float> one = product(a, b);
    for (int threads : {2, 3, 5}) {
      set_num_threads(threads);
      CHECK(product(a, b) == one);
    }
  });
  set_num_threads(before);
}

// So a product cut by rows or columns, on other devices or beside other work, is the same.
TEST(vector_product_of_a_part_is_a_part_of_the_product) {
  with_factors([](const Stored& a, const Stored& b) {
    std::vector<float> whole = product(a, b);
    int64_t m = std::max<int64_t>(2, a.rows / 2), n = std::max<int64_t>(2, b.columns / 3);
    std::vector<float> part(static_cast<size_t>(m * n));
    vector_gemm({m, n, a.columns, 1, a.matrix(), b.matrix(), 0, part.data(), n});
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++)
        CHECK_EQ(part[static_cast<size_t>(i * n + j)], whole[static_cast<size_t>(i * b.columns + j)]);
  });
}

TEST(vector_product_keeps_infinities_and_nan_in_their_rows) {
  Stored a(40, 70, false, 4), b(70, 50, true, 5);
  if (!vector_gemm_pays(40, 50, 70, b.matrix())) return;
  a.at(3, 50) = std::numeric_limits<float>::infinity();
  a.at(20, 1) = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> c = product(a, b);
  for (int64_t i = 0; i < 40; i++)
    for (int64_t j = 0; j < 50; j++) {
      float got = c[static_cast<size_t>(i * 50 + j)];
      if (i == 3)
        CHECK_EQ(got, std::copysign(std::numeric_limits<float>::infinity(), b.at(50, j)));
      else
        CHECK_EQ(std::isnan(got), i == 20);
    }
}

}  // namespace tw::device
