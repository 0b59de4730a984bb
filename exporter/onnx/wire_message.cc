#include "exporter/onnx/wire_message.h"

#include <cstring>

namespace partita::onnx_export {
namespace {

enum WireType : uint64_t { kVarint = 0, kBytes = 2, kFixed32 = 5 };

uint64_t TagOf(int field, WireType type) { return static_cast<uint64_t>(field) << 3 | type; }

}  // namespace

void WireMessage::AddInteger(int field, int64_t value) {
  AddVarint(TagOf(field, kVarint));
  AddVarint(static_cast<uint64_t>(value));
}

void WireMessage::AddFloat(int field, float value) {
  AddVarint(TagOf(field, kFixed32));
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  bytes_.append(bytes, sizeof(bytes));
}

void WireMessage::AddBytes(int field, std::string_view bytes) {
  BeginBytes(field, static_cast<int64_t>(bytes.size()));
  bytes_.append(bytes);
}

void WireMessage::BeginBytes(int field, int64_t count) {
  AddVarint(TagOf(field, kBytes));
  AddVarint(static_cast<uint64_t>(count));
}

void WireMessage::AddVarint(uint64_t value) {
  for (; value > 0x7f; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

}  // namespace partita::onnx_export
