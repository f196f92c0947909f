// Float products against sums in double. Where the machine has no matrix unit, BLAS is tested in its place.
#include "device/cpu/amx_gemm.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "device/cpu/amx.h"
#include "device/cpu/parallel.h"
#include "device/matrices.h"
#include "test.h"

namespace tw::device {

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Sizes {
  int64_t m, n, k;
};

using Product = decltype(&amx::gemm);

void any_gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix<float> a, Matrix<float> b, float beta,
              float* c, int64_t c_stride) {
  gemm<float>(m, n, k, alpha, a, b, beta, c, c_stride);
}

// The unit at sizes for which it does not pay, too.
const Product kTested = amx::available() ? amx::gemm : any_gemm;

std::vector<float> product(Product call, const Stored& a, const Stored& b, float alpha = 1, float beta = 0,
                           int64_t gap = 0) {
  int64_t stride = b.columns + gap;
  std::vector<float> c(static_cast<size_t>(a.rows * stride), 0.5f);
  call(a.rows, b.columns, a.columns, alpha, a.matrix(), b.matrix(), beta, c.data(), stride);
  return c;
}

// Whole and ragged panels, chunks and slices.
const std::vector<Sizes> kSizes = {{96, 96, 96},   {33, 65, 257},  {100, 70, 90},  {64, 800, 130},
                                   {129, 257, 96}, {200, 60, 600}, {256, 256, 512}};

}  // namespace

TEST(float_product_is_as_exact_as_blas) {
  for (const Sizes& s : kSizes) {
    for (int form = 0; form < 4; form++) {
      Stored a(s.m, s.k, form & 1, 1), b(s.k, s.n, form & 2, 2);
      Errors ours = errors(product(kTested, a, b), a, b);
      Errors blas = errors(product(blas_gemm<float>, a, b), a, b);
      CHECK(ours.mean <= 1.05 * blas.mean);
      CHECK(ours.largest <= 2 * blas.largest);
    }
  }
}

TEST(float_product_scales_and_adds_into_strided_rows) {
  for (const Sizes& s : kSizes) {
    Stored a(s.m, s.k, false, 3), b(s.k, s.n, false, 4);
    std::vector<float> plain = product(kTested, a, b);
    for (auto [alpha, beta] : {std::pair{1.0f, 1.0f}, {2.0f, 0.0f}, {-0.5f, 3.0f}}) {
      std::vector<float> c = product(kTested, a, b, alpha, beta, 5);
      for (int64_t i = 0; i < s.m; i++) {
        for (int64_t j = 0; j < s.n; j++) {
          float want = alpha * plain[static_cast<size_t>(i * s.n + j)] + beta * 0.5f;
          CHECK_NEAR(c[static_cast<size_t>(i * (s.n + 5) + j)], want, 1e-4 * (1 + std::abs(want)));
        }
        for (int64_t j = s.n; j < s.n + 5; j++) CHECK_EQ(c[static_cast<size_t>(i * (s.n + 5) + j)], 0.5f);
      }
    }
  }
}

TEST(float_product_does_not_depend_on_threads) {
  int before = num_threads();
  for (const Sizes& s : kSizes) {
    Stored a(s.m, s.k, true, 5), b(s.k, s.n, false, 6);
    set_num_threads(1);
    std::vector<float> one = product(kTested, a, b);
    for (int threads : {2, 3, 5}) {
      set_num_threads(threads);
      CHECK(product(kTested, a, b) == one);
    }
  }
  set_num_threads(before);
}

TEST(float_product_of_infinities_and_nan) {
  Stored a(100, 100, false, 7), b(100, 300, false, 8);
  a.at(3, 50) = kInf;
  a.at(70, 1) = -std::numeric_limits<float>::quiet_NaN();
  b.at(20, 280) = -kInf;
  std::vector<float> got = product(kTested, a, b), want = product(blas_gemm<float>, a, b);
  for (size_t i = 0; i < got.size(); i++) {
    CHECK_EQ(std::isnan(got[i]), std::isnan(want[i]));
    if (!std::isnan(want[i])) CHECK_NEAR(got[i], want[i], std::isinf(want[i]) ? 0 : 1e-4);
  }
  CHECK_EQ(got[3 * 300], b.at(50, 0) > 0 ? kInf : -kInf);
  CHECK(std::isnan(got[70 * 300 + 5]));
}

TEST(float_product_of_extreme_magnitudes) {
  for (auto [left, right] : {std::pair{1e-38f, 1.0f}, {1e-30f, 1e-8f}, {1e25f, 1e12f}, {1e38f, 1e-38f}}) {
    Stored a(64, 160, false, 9), b(160, 64, false, 10);
    Stored large = a, small = b;
    for (int64_t p = 0; p < 160; p++) {  // a row and a column apart from the others
      large.at(5, p) *= left;
      small.at(p, 9) *= right;
    }
    std::vector<float> got = product(kTested, large, small), plain = product(blas_gemm<float>, a, b);
    double scale = static_cast<double>(left) * right, want = plain[5 * 64 + 9] * scale;
    // Results this small are denormal: their spacing is 2^-149.
    CHECK_NEAR(got[5 * 64 + 9], want, 1e-4 * std::abs(want) + 100 * 0x1p-149);
    CHECK_NEAR(got[5 * 64], plain[5 * 64] * left, 1e-4 * std::abs(plain[5 * 64] * left) + 100 * 0x1p-149);
    CHECK_NEAR(got[9], plain[9] * right, 1e-4 * std::abs(plain[9] * right) + 100 * 0x1p-149);
    CHECK_NEAR(got[0], plain[0], 1e-4 * std::abs(plain[0]));
  }
}

TEST(float_product_of_zeros) {
  Stored a(64, 160, false, 11), b(160, 64, false, 12);
  std::fill(a.data.begin(), a.data.end(), 0.0f);
  for (float x : product(kTested, a, b)) CHECK_EQ(x, 0.0f);
}

TEST(float_product_takes_the_unit_where_it_is_allowed_and_pays) {
  Stored a(256, 300, true, 13), b(300, 256, false, 14);
  CHECK_EQ(amx::pays(256, 256, 300), amx::available());
  CHECK(!amx::pays(64, 4096, 4096));
  std::vector<float> plain = product(any_gemm, a, b);
  allow_matrix_unit(true);
  std::vector<float> allowed = product(any_gemm, a, b);
  allow_matrix_unit(false);
  CHECK(allowed == product(kTested, a, b));
  CHECK_EQ(allowed == plain, !amx::available());
}

}  // namespace tw::device
