// A message in the wire format of protobuf, written field by field, without a schema.
#ifndef PARTITA_EXPORTER_ONNX_WIRE_MESSAGE_H_
#define PARTITA_EXPORTER_ONNX_WIRE_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace partita::onnx_export {

class WireMessage {
 public:
  void AddInteger(int field, int64_t value);
  void AddFloat(int field, float value);
  void AddBytes(int field, std::string_view bytes);  // text, or the bytes of a message
  void AddMessage(int field, const WireMessage& message) { AddBytes(field, message.bytes_); }
  // Begins a field of bytes that the caller writes behind this message.
  void BeginBytes(int field, int64_t count);

  const std::string& bytes() const { return bytes_; }

 private:
  void AddVarint(uint64_t value);

  std::string bytes_;
};

}  // namespace partita::onnx_export

#endif  // PARTITA_EXPORTER_ONNX_WIRE_MESSAGE_H_
