#include "tests/conformance/comm_fixture.h"

#include "runtime/base/bf16.h"

namespace partita {
namespace {

template <typename T>
std::vector<char> Encode(const Values& values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <typename T>
Values Decode(const std::vector<char>& bytes) {
  Values values;
  for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

std::vector<char> Encode(const Values& values, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Encode<float>(values);
    case DType::kF64:
      return Encode<double>(values);
    case DType::kI32:
      return Encode<int32_t>(values);
    case DType::kU8:
      return Encode<uint8_t>(values);
    case DType::kBF16:
      return Encode<Bf16>(values);
  }
  return {};
}

Values Decode(const std::vector<char>& bytes, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Decode<float>(bytes);
    case DType::kF64:
      return Decode<double>(bytes);
    case DType::kI32:
      return Decode<int32_t>(bytes);
    case DType::kU8:
      return Decode<uint8_t>(bytes);
    case DType::kBF16:
      return Decode<Bf16>(bytes);
  }
  return {};
}

}  // namespace

Buffer CommTest::NewBuffer(int rank, const Values& values, DType dtype) {
  const std::vector<char> bytes = Encode(values, dtype);
  arenas_.push_back(*ranks_->device(rank).Allocate(static_cast<int64_t>(bytes.size())));
  backend().device_backend().Upload(arenas_.back()->data(), bytes.data(), static_cast<int64_t>(bytes.size()));
  return {arenas_.back()->data(), static_cast<int64_t>(values.size()), dtype};
}

Values CommTest::Read(const Buffer& buffer) const {
  std::vector<char> bytes(buffer.bytes());
  backend().device_backend().Download(bytes.data(), buffer.data, buffer.bytes());
  return Decode(bytes, buffer.dtype);
}

void CommTest::OnRanks(const std::function<absl::Status(int)>& enqueue) {
  for (int rank = 0; rank < p(); ++rank) ASSERT_OK(enqueue(rank));
  for (int rank = 0; rank < p(); ++rank) EXPECT_OK(Synchronize(rank));
}

void CommTest::ExpectBytes(int64_t payload, int64_t wire) {
  int64_t total_payload = 0, total_wire = 0;
  for (int rank = 0; rank < p(); ++rank) {
    total_payload += comm(rank).bytes().payload;
    total_wire += comm(rank).bytes().wire;
  }
  EXPECT_EQ(total_payload - payload_, payload);
  if (backend().counts_wire()) {
    EXPECT_EQ(total_wire - wire_, wire);
  }
  payload_ = total_payload;
  wire_ = total_wire;
}

}  // namespace partita
