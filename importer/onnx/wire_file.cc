#include "importer/onnx/wire_file.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace partita::onnx {
namespace {

constexpr int64_t kBuffer = 1 << 16;

absl::Status Damaged(int64_t position) {
  return InvalidArgument("byte {} is no part of a protobuf message; expected an ONNX model, whole", position);
}

}  // namespace

absl::StatusOr<WireFile> WireFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return WireFile(std::move(file));
}

absl::Status WireFile::Fill() {
  if (used_ < buffer_.size()) return absl::OkStatus();
  buffer_.clear();
  used_ = 0;
  return file_.Append(std::min(kBuffer, file_.rest()), buffer_);
}

absl::StatusOr<uint64_t> WireFile::Varint(int64_t end) {
  constexpr int kMostShift = 63;
  uint64_t value = 0;
  for (int shift = 0; shift <= kMostShift; shift += 7) {
    if (position_ >= end) return Damaged(position_);
    RETURN_IF_ERROR(Fill());
    const auto byte = static_cast<uint8_t>(buffer_[used_++]);
    ++position_;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return Damaged(position_);
}

absl::StatusOr<uint64_t> WireFile::Fixed(int bytes, int64_t end) {
  if (end - position_ < bytes) return Damaged(position_);
  ASSIGN_OR_RETURN(const std::string read, Bytes(position_ + bytes));
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<uint8_t>(read[static_cast<size_t>(i)]);
  return value;
}

absl::StatusOr<WireField> WireFile::Next(int64_t end) {
  ASSIGN_OR_RETURN(const uint64_t tag, Varint(end));
  WireField field;
  const uint64_t number = tag >> 3;
  if (number == 0 || number >= uint64_t{1} << 29) return Damaged(position_);
  field.number = static_cast<int>(number);
  field.type = static_cast<WireType>(tag & 7);
  switch (field.type) {
    case WireType::kVarint: {
      ASSIGN_OR_RETURN(field.value, Varint(end));
      return field;
    }
    case WireType::kFixed64: {
      ASSIGN_OR_RETURN(field.value, Fixed(8, end));
      return field;
    }
    case WireType::kFixed32: {
      ASSIGN_OR_RETURN(field.value, Fixed(4, end));
      return field;
    }
    case WireType::kBytes: {
      ASSIGN_OR_RETURN(const uint64_t size, Varint(end));
      if (size > static_cast<uint64_t>(end - position_)) {
        return InvalidArgument("byte {}: a field of {} bytes ends behind the message around it; is the file cut short?",
                               position_, size);
      }
      field.end = position_ + static_cast<int64_t>(size);
      return field;
    }
  }
  return Damaged(position_);
}

absl::StatusOr<std::string> WireFile::Bytes(int64_t end) {
  std::string bytes;
  const auto buffered = std::min<int64_t>(end - position_, static_cast<int64_t>(buffer_.size() - used_));
  bytes.append(buffer_, used_, static_cast<size_t>(buffered));
  used_ += static_cast<size_t>(buffered);
  RETURN_IF_ERROR(file_.Append(end - position_ - buffered, bytes));
  position_ = end;
  return bytes;
}

absl::Status WireFile::SkipTo(int64_t end) {
  const auto buffered = std::min<int64_t>(end - position_, static_cast<int64_t>(buffer_.size() - used_));
  used_ += static_cast<size_t>(buffered);
  RETURN_IF_ERROR(file_.Skip(end - position_ - buffered));
  position_ = end;
  return absl::OkStatus();
}

}  // namespace partita::onnx
