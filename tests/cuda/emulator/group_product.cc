#include "cuda/common/group_product.h"

#include <deque>
#include <vector>

#include "base/cat.h"
#include "tests/cuda/emulator/mma.h"
#include "tests/cuda/emulator/shared.h"

namespace tw::cuda::emulator {

namespace {

constexpr int kDepth = 16, kWarpRows = 16, kWarpsOfGroup = 4;

struct Products {
  std::vector<GroupProduct> begun;
  std::deque<std::vector<GroupProduct>> batches;  // oldest first
  size_t count = 0;
};
std::vector<Products> g_products;  // of each thread

Products& own_products() { return g_products[g_now.thread.x]; }

// A factor as its descriptor says (PTX ISA, "Strides" and "Canonical layouts"), with pieces of 16 bytes of a
// row of 128 exchanged by the row's number.
class Factor {
 public:
  explicit Factor(uint64_t bits) : begin_(field(bits, 0)), beside_(field(bits, 16)), below_(field(bits, 32)) {
    if (bits >> 62 != 1) fail("multiplies a tile that is not of rows of 128 bytes");
  }
  // Inner elements side by side: row `outer`, inner element k.
  const char* by_rows(int outer, int k) const { return at(outer / 8 * below_ + outer % 8 * 128 + k * 2); }
  // Outer elements side by side: k-th row.
  const char* by_columns(int outer, int k) const {
    return at(outer / 64 * beside_ + k / 8 * below_ + k % 8 * 128 + outer % 64 * 2);
  }

 private:
  static uint32_t field(uint64_t bits, int from) { return static_cast<uint32_t>(bits >> from & 0x3fff) << 4; }
  const char* at(uint32_t offset) const {
    uint32_t address = begin_ + offset;
    return shared_at(address ^ (address >> 7 & 7) << 4);
  }
  uint32_t begin_, beside_, below_;
};

float read(const GroupProduct& product, const char* at) {
  check_tile_read(at, 2);
  return product.widen(at);
}

// `lanes` give the registers of all lanes of the warp that hold A.
void run(const GroupProduct& product, const uint32_t* const* lanes) {
  int lane = static_cast<int>(g_now.thread.x) % kWarp, warp = static_cast<int>(g_now.thread.x) / kWarp;
  int row = lane / 4, column = lane % 4 * 2;
  float rows[2][kDepth];
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < kDepth; k++) {
      const auto* held = product.a ? lanes[row * 4 + k % 8 / 2] : nullptr;
      rows[i][k] =
          held ? product.widen(reinterpret_cast<const char*>(&held[k / 8 * 2 + i]) + k % 2 * 2)
               : read(product,
                      Factor(product.a_tile).by_rows(warp % kWarpsOfGroup * kWarpRows + i * 8 + row, k));
    }
  Factor b(product.b);
  for (int tile = 0; tile < product.tiles; tile++)
    for (int j = 0; j < 2; j++) {
      float sums[2] = {}, factor;
      int outer = tile * 8 + column + j;
      for (int k = 0; k < kDepth; k++) {
        factor = read(product, product.a ? b.by_columns(outer, k) : b.by_rows(outer, k));
        for (int i = 0; i < 2; i++) sums[i] += rows[i][k] * factor;
      }
      for (int i = 0; i < 2; i++) {
        float& to = product.sums[tile][i * 2 + j];
        to = product.add ? to + sums[i] : sums[i];
      }
    }
}

}  // namespace

void begin_products(unsigned threads) { g_products.assign(threads, Products()); }

void check_products_ended() {
  const Products& own = own_products();
  if (!own.begun.empty() || !own.batches.empty()) fail("returns while products of its group go on");
}

std::string fault_of_groups() {
  for (size_t i = 0; i < g_products.size(); i++)
    if (g_products[i].count != g_products[i / kGroupThreads * kGroupThreads].count)
      return cat("thread ", i, " has begun ", g_products[i].count,
                 " products, and others of its group not as many");
  return {};
}

void begin_product(const GroupProduct& product) {
  own_products().count++;
  own_products().begun.push_back(product);
}

void end_products() {
  Products& own = own_products();
  own.batches.push_back(std::move(own.begun));
  own.begun.clear();
}

// All lanes look at each other's registers, and none goes on before all have.
void wait_for_products(size_t left, std::source_location where) {
  Products& own = own_products();
  while (own.batches.size() > left) {
    for (const GroupProduct& product : own.batches.front()) {
      const Words* words = exchange_words({{reinterpret_cast<uintptr_t>(product.a)}}, where);
      const uint32_t* lanes[kWarp];
      for (int i = 0; i < kWarp; i++) lanes[i] = reinterpret_cast<const uint32_t*>(words[i].at[0]);
      run(product, lanes);
    }
    own.batches.pop_front();
  }
  exchange_words({}, where);
}

uint64_t tile_bits(const void* tile, int between) {
  uint32_t offset = shared_offset(tile);
  if (offset % kTileAlignment != 0) fail("multiplies a tile that does not begin at a multiple of 1024 bytes");
  return uint64_t{offset >> 4} | static_cast<uint64_t>(between >> 4) << 16 | uint64_t{8 * 128 >> 4} << 32 |
         uint64_t{1} << 62;
}

}  // namespace tw::cuda::emulator
