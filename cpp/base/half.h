// float16 and bfloat16 as storage types: they convert to and from float, arithmetic happens in float.
// The conversions are branch-free so that loops over them vectorise.
#pragma once

#include <bit>
#include <cstdint>

namespace tw {

struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  constexpr bfloat16(float value) : bits(round(std::bit_cast<uint32_t>(value))) {}
  constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

 private:
  // Round to nearest even; a NaN keeps its sign and becomes quiet.
  static constexpr uint16_t round(uint32_t f) {
    uint32_t rounded = (f + 0x7FFF + ((f >> 16) & 1)) >> 16;
    uint32_t quiet = (f >> 16) | 0x40;
    bool nan = (f & 0x7FFFFFFF) > 0x7F800000;
    return static_cast<uint16_t>(nan ? quiet : rounded);
  }
};

struct float16 {
  uint16_t bits = 0;

  float16() = default;
  constexpr float16(float value) : bits(narrow(std::bit_cast<uint32_t>(value))) {}
  constexpr operator float() const { return std::bit_cast<float>(widen(bits)); }

 private:
  static constexpr uint32_t widen(uint32_t h) {
    uint32_t sign = (h & 0x8000) << 16;
    uint32_t rest = (h & 0x7FFF) << 13;
    uint32_t exponent = rest & 0x0F800000;
    uint32_t normal = rest + 0x38000000;   // rebias 15 → 127
    uint32_t special = rest + 0x70000000;  // infinity and NaN: exponent 31 → 255
    float denormal = std::bit_cast<float>(rest + 0x38800000) - std::bit_cast<float>(0x38800000u);
    uint32_t value = exponent == 0x0F800000 ? special : normal;
    value = exponent == 0 ? std::bit_cast<uint32_t>(denormal) : value;
    return sign | value;
  }
  static constexpr uint16_t narrow(uint32_t f) {
    uint32_t sign = (f >> 16) & 0x8000;
    uint32_t a = f & 0x7FFFFFFF;
    uint32_t normal = (a - 0x38000000 + 0xFFF + ((a >> 13) & 1)) >> 13;  // nearest even
    // Below the smallest normal, adding 0.5 aligns the mantissa and lets the FPU round.
    uint32_t denormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(a < 0x38800000 ? a : 0u) + 0.5f) - 0x3F000000;
    uint32_t value = a < 0x38800000 ? denormal : normal;
    value = a >= 0x477FF000 ? 0x7C00 : value;  // rounds to infinity
    value = a > 0x7F800000 ? 0x7E00 : value;   // NaN
    return static_cast<uint16_t>(sign | value);
  }
};

}  // namespace tw
