// Products of groups of four warps (wgmma). They read and write nothing before they are waited for, when
// every lane computes its own sums: who looks at sums, or changes held factors, before that goes wrong.
#pragma once

#include "tests/cuda/emulator/device.h"

namespace tw::cuda {

namespace emulator {

struct GroupProduct {
  float (*widen)(const void* half);
  float (*sums)[4];
  int tiles;           // of 8 columns
  const uint32_t* a;   // null where it is a tile
  uint64_t a_tile, b;  // TileFactor
  bool add;
};

void begin_products(unsigned threads);  // of the block that begins
// A fault if products of the running thread go on.
void check_products_ended();
// Of the block that ends: warps of a group must have begun the same number of products.
std::string fault_of_groups();

void begin_product(const GroupProduct& product);
void end_products();
void wait_for_products(size_t left, std::source_location where);
uint64_t tile_bits(const void* tile, int between);

template <class T>
TW_UNCHECKED float widened(const void* half) {
  T value;
  std::memcpy(&value, half, sizeof(T));
  return static_cast<float>(value);
}

}  // namespace emulator

inline TileFactor tile_factor(const void* tile, int between) { return {emulator::tile_bits(tile, between)}; }
inline void begin_products() {}
inline void end_products() { emulator::end_products(); }
template <int kLeft>
void wait_for_products(TW_WHERE) {
  emulator::wait_for_products(kLeft, where);
}
template <int kTiles>
void hold(float (&)[kTiles][4]) {}

template <class T, int kTiles>
void multiply_tiles(float (&sums)[kTiles][4], TileFactor a, TileFactor b, bool add) {
  emulator::begin_product({emulator::widened<T>, sums, kTiles, nullptr, a.bits, b.bits, add});
}
template <class T, int kTiles>
void multiply_held(float (&sums)[kTiles][4], const uint32_t (&a)[4], TileFactor b) {
  emulator::begin_product({emulator::widened<T>, sums, kTiles, a, 0, b.bits, true});
}

template <int kRegisters>
void give_registers() {}
template <int kRegisters>
void take_registers() {}

}  // namespace tw::cuda
