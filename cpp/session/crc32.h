// CRC-32 as in zip files (polynomial 0xEDB88320): eight bytes a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tw::session {

class Crc32 {
 public:
  void add(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    uint32_t crc = state_;
    for (; size >= 8; size -= 8, bytes += 8) {
      crc ^= bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
      crc = kTables[7][crc & 255] ^ kTables[6][crc >> 8 & 255] ^ kTables[5][crc >> 16 & 255] ^
            kTables[4][crc >> 24] ^ kTables[3][bytes[4]] ^ kTables[2][bytes[5]] ^ kTables[1][bytes[6]] ^
            kTables[0][bytes[7]];
    }
    for (; size; size--, bytes++) crc = crc >> 8 ^ kTables[0][(crc ^ *bytes) & 255];
    state_ = crc;
  }
  uint32_t value() const { return ~state_; }

 private:
  using Tables = std::array<std::array<uint32_t, 256>, 8>;
  // Table t: what a byte with t zero bytes behind it adds.
  static constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t byte = 0; byte < 256; byte++) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
      tables[0][byte] = crc;
    }
    for (int t = 1; t < 8; t++)
      for (int byte = 0; byte < 256; byte++)
        tables[t][byte] = tables[t - 1][byte] >> 8 ^ tables[0][tables[t - 1][byte] & 255];
    return tables;
  }
  static const Tables kTables;
  uint32_t state_ = ~0u;
};

inline constexpr Crc32::Tables Crc32::kTables = Crc32::make_tables();

}  // namespace tw::session
