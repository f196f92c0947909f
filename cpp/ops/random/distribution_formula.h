// How words of the generator become numbers; which words element i takes, ops/random_words.h says. M: the
// functions used.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/formula.h"

namespace tw::ops {

// Words an element takes: doubles and what is computed in double take two.
template <class C>
inline constexpr int kWordsEach = sizeof(C) == 8 ? 2 : 1;

TW_FORMULA uint64_t wide_word(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

// Number i made of these words, in [0, 1).
template <class C>
TW_FORMULA C uniform_at(const uint32_t* words, int64_t i) {
  if constexpr (kWordsEach<C> == 2) {
    uint64_t bits = wide_word(words[2 * i], words[2 * i + 1]);
    return static_cast<C>(static_cast<int64_t>(bits >> 11)) * C(0x1p-53);
  } else {
    return static_cast<C>(static_cast<int32_t>(words[i] >> 8)) * C(0x1p-24);
  }
}

// A whole number in [0, range): multiplying by the range and keeping the upper half favours no number by more
// than range / 2^64.
TW_FORMULA uint64_t below(uint64_t range, uint64_t bits) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
}

// Two normals of two uniforms (Box and Muller).
template <class M, class C>
TW_FORMULA void normal_pair(C u, C v, C& first, C& second) {
  C radius = std::sqrt(C(-2) * M::log(C(1) - u)), cosine, sine;
  M::unit_circle(v, cosine, sine);
  first = radius * cosine;
  second = radius * sine;
}

// Each of the following makes a number of a uniform u or of a normal z.

// Round: rounds to the dtype of the result, in which, too, the open end must not be reached.
template <class M, class C, class Round>
struct UniformFormula {
  C from, width, to;
  TW_FORMULA C operator()(C u) const {
    C x = M::multiply_add(u, width, from);
    return Round()(x) >= to ? from : x;
  }
};

template <class C>
struct NormalFormula {
  C mean, std;
  // The parts of complex numbers have half the variance each.
  static NormalFormula of(double mean, double std, bool is_part) {
    return {C(mean), C(is_part ? std * std::sqrt(0.5) : std)};
  }
  TW_FORMULA C operator()(C z) const { return mean + std * z; }
};

template <class M, class C>
struct LogNormalFormula {
  C mean, std;
  TW_FORMULA C operator()(C z) const { return M::exp(mean + std * z); }
};

template <class M, class C>
struct ExponentialFormula {
  C scale;
  static ExponentialFormula of(double lambd) { return {C(-1 / lambd)}; }
  TW_FORMULA C operator()(C u) const { return scale * M::log1p(-u); }
};

template <class M, class C>
struct CauchyFormula {
  C median, sigma;
  TW_FORMULA C operator()(C u) const { return median + sigma * M::tan_of_half_turns(u - C(0.5)); }
};

template <class M>
struct GeometricFormula {
  double scale;
  static GeometricFormula of(double p) { return {1 / std::log1p(-p)}; }
  TW_FORMULA double operator()(double u) const {
    double trials = std::ceil(M::log1p(-u) * scale);
    return trials < 1 ? 1.0 : trials;
  }
};

// Of a wide word.
struct IntegersFormula {
  uint64_t low, range;
  static IntegersFormula of(int64_t low, int64_t high) {
    return {static_cast<uint64_t>(low), static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
  }
  TW_FORMULA int64_t operator()(uint64_t bits) const {
    return static_cast<int64_t>(low + below(range, bits));
  }
};

// Blocks of the stream that each row of a multinomial has for itself: what it takes, and the words that CPU
// kernels read beyond that (kRandomWords).
inline uint64_t multinomial_row_blocks(int64_t weights, int64_t samples) {
  return static_cast<uint64_t>(2 * std::max(weights, samples) + 512) / 4 + 1;
}
inline constexpr const char* kBadWeights =
    "multinomial: weights must be finite and not negative, and enough of them positive in every row";

// When an exponential clock rings that runs at a rate of `weight`: the first of several to ring are drawn
// without replacement.
TW_FORMULA double ring_time(double u, double weight) { return -std::log(1 - u) / weight; }

}  // namespace tw::ops
