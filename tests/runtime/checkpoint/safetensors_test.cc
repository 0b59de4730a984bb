#include "runtime/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/files.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<float> kWeights = {1, 2, 3, 4, 5, -6};
const std::vector<double> kLosses = {0.5, 0.25};
const std::vector<int32_t> kStep = {12};
const std::vector<uint8_t> kImage = {1, 2, 3};

std::vector<NamedTensor> Sample() {
  return {{"z/image", DType::kU8, {1, 3, 1}, std::as_bytes(std::span(kImage))},
          {"b", DType::kF32, {2, 3}, std::as_bytes(std::span(kWeights))},
          {"step", DType::kI32, {}, std::as_bytes(std::span(kStep))},
          {"a", DType::kF32, {0, 7}, {}},
          {"losses", DType::kF64, {2}, std::as_bytes(std::span(kLosses))}};
}

std::string Encoded(const std::vector<NamedTensor>& tensors, const Metadata& metadata = {}) {
  const auto encoded = EncodeSafetensors("f", tensors, metadata);
  EXPECT_TRUE(encoded.ok()) << encoded.status();
  std::string bytes = encoded->head;
  for (const auto& tensor : encoded->tensors) bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.size());
  return bytes;
}

std::string EncodeError(const std::vector<NamedTensor>& tensors, const Metadata& metadata = {}) {
  const auto encoded = EncodeSafetensors("f", tensors, metadata);
  return encoded.ok() ? "accepted" : std::string(encoded.status().message());
}

// A file of 100 GB, nearly all of it a hole: what its header says decides, before memory is taken.
TEST(Safetensors, TensorsAreNotReadBeforeTheHeaderIsAccepted) {
  const std::string path = ::testing::TempDir() + "/sparse_" + std::to_string(::getpid()) + ".safetensors";
  std::string header = R"({"w":{"dtype":"U8","shape":[100000000000],"data_offsets":[0,100000000000]}})";
  header.resize(88, ' ');
  ASSERT_TRUE(
      WriteFileAtomically(path, std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header).ok());
  ASSERT_EQ(::truncate(path.c_str(), 8 + 88 + int64_t{100'000'000'000}), 0);
  {
    const auto reader = SafetensorsReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(reader->header().tensors().size(), 1u);
    EXPECT_EQ(reader->header().Find("w")->shape, (std::vector<int64_t>{100'000'000'000}));
  }
  ASSERT_EQ(::truncate(path.c_str(), 8 + 88 + int64_t{99'000'000'000}), 0);
  EXPECT_THAT(std::string(LoadSafetensors(path).status().message()),
              HasSubstr("found 99000000000 bytes behind the header, its tensors have 100000000000"));
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  ASSERT_EQ(::truncate(path.c_str(), int64_t{100'000'000'000}), 0);
  EXPECT_THAT(std::string(LoadSafetensors(path).status().message()), HasSubstr(path));
  ::unlink(path.c_str());
  EXPECT_THAT(std::string(LoadSafetensors("/dev/zero").status().message()), HasSubstr("found a device"));
}

// What is not wanted is hashed as it passes, so damage anywhere is found.
TEST(Safetensors, OnlyWantedTensorsAreKept) {
  const std::string path = ::testing::TempDir() + "/chosen_" + std::to_string(::getpid()) + ".safetensors";
  const std::vector<float> large(700'000, 0.5F);
  const auto save = [&](const std::vector<float>& second) {
    const std::vector<NamedTensor> tensors = {{"a", DType::kF32, {6}, std::as_bytes(std::span(kWeights))},
                                              {"b", DType::kF32, {700'000}, std::as_bytes(std::span(second))},
                                              {"c", DType::kF32, {2, 3}, std::as_bytes(std::span(kWeights))}};
    ASSERT_TRUE(SaveSafetensors(path, tensors, {{"partita.note", "x"}}).ok());
  };
  const auto read = [&] {
    auto reader = SafetensorsReader::Open(path);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return (*std::move(reader)).Read([](const StoredTensor& tensor) { return tensor.name != "b"; });
  };
  save(large);
  const auto file = read();
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->Find("b"), nullptr);
  EXPECT_EQ(file->metadata().at("partita.note"), "x");
  for (const char* name : {"a", "c"}) {
    const auto bytes = file->Bytes(*file->Find(name));
    EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(kWeights)))) << name;
  }
  std::string damaged = ReadFile(path, 1 << 30).value();
  damaged[damaged.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, damaged).ok());
  EXPECT_THAT(std::string(read().status().message()), HasSubstr("found checksum"));
  ::unlink(path.c_str());
}

TEST(Safetensors, WhatIsSavedIsLoaded) {
  const std::string path = ::testing::TempDir() + "/round_" + std::to_string(::getpid()) + ".safetensors";
  ASSERT_TRUE(SaveSafetensors(path, Sample(), {{"model", "mlp \"quoted\" \xc3\xa4\n"}}).ok());
  const auto file = LoadSafetensors(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ::unlink(path.c_str());
  EXPECT_EQ(file->metadata().at("model"), "mlp \"quoted\" \xc3\xa4\n");
  EXPECT_EQ(file->metadata().at("format"), "pt");
  ASSERT_EQ(file->tensors().size(), 5u);
  for (const NamedTensor& tensor : Sample()) {
    const auto bytes = file->Get(tensor.name, tensor.dtype, tensor.shape);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_TRUE(std::equal(bytes->begin(), bytes->end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
}

TEST(Safetensors, HalfTheBytesOfAnF32) {
  const std::vector<uint16_t> bits = {0x3F80, 0xC000};
  const std::string bytes = Encoded({{"h", DType::kBF16, {2}, std::as_bytes(std::span(bits))}});
  EXPECT_THAT(bytes, HasSubstr(R"("h":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]})"));
  const auto file = SafetensorsFile::Parse("f", bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<int64_t> shape = {2};
  EXPECT_TRUE(file->Get("h", DType::kBF16, shape).ok());
  EXPECT_FALSE(file->Get("h", DType::kF32, shape).ok());
}

TEST(Safetensors, NothingIsAFileToo) {
  const auto file = SafetensorsFile::Parse("f", Encoded({}));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->tensors().empty());
}

// Bytes exact, but for the checksum: f64 before f32 before i32 before u8, then by name; header padded to 8.
TEST(Safetensors, BytesAreDeterministicAndSorted) {
  std::vector<NamedTensor> tensors = Sample();
  const std::string bytes = Encoded(tensors);
  const std::string head = R"({"__metadata__":{"format":"pt","partita.xxh3":"................................"},)"
                           R"("losses":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                           R"("a":{"dtype":"F32","shape":[0,7],"data_offsets":[16,16]},)"
                           R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[16,40]},)"
                           R"("step":{"dtype":"I32","shape":[],"data_offsets":[40,44]},)"
                           R"("z/image":{"dtype":"U8","shape":[1,3,1],"data_offsets":[44,47]}})";
  const size_t padded = (head.size() + 7) / 8 * 8;
  ASSERT_EQ(bytes.size(), 8 + padded + 47);
  EXPECT_EQ(static_cast<uint8_t>(bytes[0]) + 256 * static_cast<uint8_t>(bytes[1]), static_cast<int>(padded));
  for (size_t i = 0; i < head.size(); ++i) {
    const bool checksum = head[i] == '.' && head[i + 1] != 'x';
    EXPECT_EQ(checksum ? '.' : bytes[8 + i], head[i]) << i;
  }
  EXPECT_EQ(bytes.substr(8 + head.size(), padded - head.size()), std::string(padded - head.size(), ' '));
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(tensors.begin(), tensors.end(), random);
    EXPECT_EQ(Encoded(tensors), bytes);
  }
}

TEST(Safetensors, WriterRefusesWhatNobodyCouldRead) {
  const auto bytes = std::as_bytes(std::span(kWeights));
  EXPECT_THAT(EncodeError({{"a", DType::kF32, {6}, bytes}, {"a", DType::kF32, {6}, bytes}}), HasSubstr("found twice"));
  EXPECT_THAT(EncodeError({{"", DType::kF32, {6}, bytes}}), HasSubstr("does not allow"));
  EXPECT_THAT(EncodeError({{"__metadata__", DType::kF32, {6}, bytes}}), HasSubstr("does not allow"));
  EXPECT_THAT(EncodeError({{"a", DType::kF32, {7}, bytes}}), HasSubstr("\"a\": found 24 bytes, f32[7] needs another"));
  EXPECT_THAT(EncodeError({{"a", DType::kF32, {-6, -1}, bytes}}),
              HasSubstr("found f32[-6,-1], allowed are sizes from 0"));
  EXPECT_THAT(EncodeError({{"a", DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}, bytes}}),
              HasSubstr("of less than 2^60 bytes"));
  EXPECT_THAT(EncodeError({{"\xff", DType::kF32, {6}, bytes}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(EncodeError({}, {{"key", "\xff"}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(EncodeError({}, {{"format", "np"}}), HasSubstr("it is the writer's"));
  EXPECT_THAT(EncodeError({}, {{kChecksumKey, "0"}}), HasSubstr("it is the writer's"));
}

TEST(Safetensors, SaveThatFailsNamesThePath) {
  const absl::Status status = SaveSafetensors("/no/such/folder/m.safetensors", Sample(), {});
  EXPECT_THAT(std::string(status.message()), StartsWith("/no/such/folder/m.safetensors: cannot create"));
  EXPECT_THAT(std::string(LoadSafetensors("/no/such/file").status().message()),
              StartsWith("/no/such/file: cannot open"));
}

TEST(Safetensors, GetSaysWhatIsMissingOrDifferent) {
  const auto file = SafetensorsFile::Parse("m.st", Encoded(Sample()));
  ASSERT_TRUE(file.ok());
  const auto error = [&](std::string_view name, DType dtype, std::vector<int64_t> shape) {
    return std::string(file->Get(name, dtype, shape).status().message());
  };
  EXPECT_EQ(error("w", DType::kF32, {2}),
            R"(m.st: tensor "w": not found among the 5 of the file: "losses", "a", "b", "step", "z/image")");
  EXPECT_EQ(error("b", DType::kF32, {3, 2}), R"(m.st: tensor "b": found F32[2,3], needed is F32[3,2])");
  EXPECT_EQ(error("b", DType::kI32, {2, 3}), R"(m.st: tensor "b": found F32[2,3], needed is I32[2,3])");
  EXPECT_EQ(error("b", DType::kF32, {2, 3, 1}), R"(m.st: tensor "b": found F32[2,3], needed is F32[2,3,1])");
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole = Encoded(Sample(), {{"note", "x"}});
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto file = SafetensorsFile::Parse("f", whole.substr(0, length));
    ASSERT_FALSE(file.ok()) << length;
    ASSERT_THAT(std::string(file.status().message()), StartsWith("f: "));
  }
  EXPECT_FALSE(SafetensorsFile::Parse("f", whole + "x").ok());
}

TEST(Safetensors, EveryDamagedByteIsFound) {
  const std::string whole = Encoded(Sample(), {{"note", "x"}});
  ASSERT_TRUE(SafetensorsFile::Parse("f", whole).ok());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] ^= 1 << bit;
      EXPECT_FALSE(SafetensorsFile::Parse("f", damaged).ok()) << i << " " << bit << " " << damaged.substr(0, 100);
    }
  }
}

// Whoever takes the checksum out of a file of ours must take all of our keys; other writers' files have none.
TEST(Safetensors, AMissingChecksumIsNoticedWhereOneWasWritten) {
  const auto error = [](const std::string& metadata) {
    const std::string json = R"({"__metadata__":{)" + metadata + "}}";
    const std::string length{static_cast<char>(json.size()), 0, 0, 0, 0, 0, 0, 0};
    const auto file = SafetensorsFile::Parse("f", length + json);
    return file.ok() ? "accepted" : std::string(file.status().message());
  };
  EXPECT_THAT(error(R"("format":"pt","partita.model":"mlp")"),
              HasSubstr(R"(metadata "partita.model": found without partita.xxh3, which our files have)"));
  EXPECT_THAT(error(R"("partita.xxh2":"1")"), HasSubstr("found without partita.xxh3"));
  EXPECT_THAT(error(R"("qartita.xxh3":"1")"), HasSubstr("found without partita.xxh3"));
  EXPECT_EQ(error(R"("format":"pt","partita":"1","quartits.xxh3":"1")"), "accepted");
}

// Read as a whole or in pieces.
TEST(Safetensors, DigestsTellApartWhatFilesHold) {
  const std::vector<float> others = {1, 2, 3, 4, 5, 6};
  const std::string path = ::testing::TempDir() + "/digest_" + std::to_string(::getpid()) + ".safetensors";
  const auto digest = [&](const std::string& name, std::vector<int64_t> shape, const std::vector<float>& values,
                          const std::string& note = "") {
    const std::vector<NamedTensor> tensors = {{name, DType::kF32, std::move(shape), std::as_bytes(std::span(values))}};
    const std::string parsed = SafetensorsFile::Parse("f", Encoded(tensors, {{"note", note}}))->Digest();
    EXPECT_TRUE(SaveSafetensors(path, tensors, {{"note", note}}).ok());
    EXPECT_EQ(LoadSafetensors(path)->Digest(), parsed);
    return parsed;
  };
  const std::string one = digest("b", {6}, kWeights);
  EXPECT_EQ(digest("b", {6}, kWeights, "by somebody else"), one);
  EXPECT_NE(digest("b", {6}, others), one);
  EXPECT_NE(digest("c", {6}, kWeights), one);
  EXPECT_NE(digest("b", {2, 3}, kWeights), one);
  ::unlink(path.c_str());
}

TEST(Safetensors, RandomBytesNeverCrash) {
  const std::string whole = Encoded(Sample());
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int n = random() % 6; n >= 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (i % 2 == 0) bytes.resize(random() % bytes.size());
    const auto file = SafetensorsFile::Parse("f", bytes);
    EXPECT_TRUE(file.ok() || file.status().code() == absl::StatusCode::kInvalidArgument) << file.status();
  }
}

TEST(Safetensors, ManyTensorsTakeLinearTime) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 50'000; ++i) tensors.push_back({"layer" + std::to_string(i), DType::kF32, {0}, {}});
  const auto file = SafetensorsFile::Parse("f", Encoded(tensors));
  ASSERT_TRUE(file.ok());
  EXPECT_NE(file->Find("layer49999"), nullptr);
}

}  // namespace
}  // namespace partita
