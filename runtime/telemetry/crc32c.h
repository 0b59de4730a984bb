// CRC-32C (Castagnoli), the checksum of records in TensorBoard's files.
#ifndef PARTITA_RUNTIME_TELEMETRY_CRC32C_H_
#define PARTITA_RUNTIME_TELEMETRY_CRC32C_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace partita {

constexpr std::array<uint32_t, 256> Crc32cTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
    table[byte] = crc;
  }
  return table;
}

inline uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = Crc32cTable();
  uint32_t crc = ~0U;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_CRC32C_H_
