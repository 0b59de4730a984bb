// What files of arrays hold, and the sentence for each that cannot be read.
#include "runtime/data/arrays/array_file.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "runtime/base/files.h"
#include "runtime/checkpoint/safetensors.h"
#include "tests/runtime/data/arrays/array_bytes.h"
#include "tests/runtime/data/idx_bytes.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<float> kNumbers = {1, -2.5F, 3, 4, 5, 6};

absl::StatusOr<Array> ReadOnly(const std::string& path, const std::string& key = "") {
  absl::StatusOr<std::unique_ptr<ArrayFile>> file = ArrayFile::Open(path);
  if (!file.ok()) return file.status();
  return (*file)->Read(key);
}

// The first one, whatever its key.
absl::StatusOr<Array> ReadFirst(const std::string& path) {
  absl::StatusOr<std::unique_ptr<ArrayFile>> file = ArrayFile::Open(path);
  if (!file.ok()) return file.status();
  return (*file)->Read((*file)->keys().empty() ? "" : (*file)->keys()[0]);
}

std::string Refusal(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

std::string NpyRefusal(const std::string& bytes) {
  const TestFolder folder;
  return Refusal(ReadOnly(folder.Write("a.npy", bytes)).status());
}

TEST(ArrayFile, NpyOfBothVersions) {
  const TestFolder folder;
  for (const char version : {1, 2}) {
    const auto array = ReadOnly(folder.Write("a", Npy("<f4", "2, 3", BytesOf(kNumbers), version)));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->type, ElementType::kF32);
    EXPECT_THAT(array->sizes, ElementsAre(2, 3));
    EXPECT_EQ(BytesOf(array->bytes), BytesOf(kNumbers));
  }
}

TEST(ArrayFile, NpyOfEveryType) {
  const TestFolder folder;
  const struct {
    const char* descr;
    ElementType type;
  } cases[] = {{"|b1", ElementType::kBool}, {"|u1", ElementType::kU8},   {"|i1", ElementType::kI8},
               {"<u2", ElementType::kU16},  {"<i2", ElementType::kI16},  {"<u4", ElementType::kU32},
               {"<i4", ElementType::kI32},  {"<u8", ElementType::kU64},  {"<i8", ElementType::kI64},
               {"<f2", ElementType::kF16},  {"<V2", ElementType::kBF16}, {"<f4", ElementType::kF32},
               {"<f8", ElementType::kF64}};
  for (const auto& [descr, type] : cases) {
    const std::string elements = "abcdefgh";
    const auto sizes = std::to_string(8 / SizeOf(type));
    const auto array = ReadOnly(folder.Write("a", Npy(descr, sizes, elements)));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->type, type);
    EXPECT_EQ(BytesOf(array->bytes), elements);
    const auto turned = ReadOnly(folder.Write("a", Npy(std::string(">") + (descr + 1), sizes, elements)));
    ASSERT_TRUE(turned.ok()) << turned.status();
    std::string expected;
    for (size_t at = 0; at < elements.size(); at += static_cast<size_t>(SizeOf(type))) {
      const std::string element = elements.substr(at, static_cast<size_t>(SizeOf(type)));
      expected.append(element.rbegin(), element.rend());
    }
    EXPECT_EQ(BytesOf(turned->bytes), expected) << descr;
  }
}

TEST(ArrayFile, FortranOrderIsTurned) {
  const TestFolder folder;
  const auto read = [&](const std::string& sizes, const std::vector<float>& stored) {
    const std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': True, 'shape': ({}), }}", sizes);
    const auto array = ReadOnly(folder.Write("a", NpyOfHeader(header, BytesOf(stored))));
    EXPECT_TRUE(array.ok()) << array.status();
    std::vector<float> values(stored.size());
    if (array.ok()) std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
    return values;
  };
  EXPECT_THAT(read("2, 3", {1, 4, 2, 5, 3, 6}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read("2, 1, 3, 2", {1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12}),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(read("3,", {1, 2, 3}), ElementsAre(1, 2, 3));
}

TEST(ArrayFile, EachFaultOfNpyHasItsSentence) {
  const std::string bytes = BytesOf(kNumbers);
  const auto header = [&](const std::string& text) { return NpyRefusal(NpyOfHeader(text, bytes)); };
  for (const char* const descr : {"<c8", "<U6", "|V1", "<M8", "f4", "", "*f4", "<f16"}) {
    EXPECT_THAT(NpyRefusal(Npy(descr, "6", bytes)),
                HasSubstr(fmt::format("a.npy: found elements of '{}'; expected truth values (b1), integers", descr)));
  }
  EXPECT_THAT(NpyRefusal(Npy("|O", "6", bytes)), HasSubstr("found elements of '|O'"));
  EXPECT_THAT(NpyRefusal(Npy("<f4", "2, 4", bytes)), HasSubstr("found sizes 2 x 4, the data behind them can be at most "
                                                               "24 bytes"));
  EXPECT_THAT(NpyRefusal(Npy("<f4", "5", bytes)), HasSubstr("found more bytes, allowed is the end after sizes 5"));
  EXPECT_THAT(NpyRefusal(Npy("<f4", "0, 3", "")), HasSubstr("found an array without elements"));
  EXPECT_THAT(NpyRefusal(Npy("<f4", "1, 1, 1, 1, 1, 1, 1, 1, 6", bytes)), HasSubstr("found 9 dimensions"));
  EXPECT_THAT(NpyRefusal(Npy("<f4", "6", bytes, 3)), HasSubstr("found version 3.0 of .npy, allowed are 1.0 and 2.0"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"), HasSubstr("found 0 dimensions"));
  for (const char* const text :
       {"", "{}", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'fortran_order': 1, 'shape': (6,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': (1,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6 7)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}"}) {
    EXPECT_THAT(header(text), HasSubstr("a.npy: found the header '")) << text;
  }
  EXPECT_THAT(NpyRefusal(NpyOfHeader(std::string(70'000, ' '), "", 2)), HasSubstr("found a header of 70000 bytes"));
}

TEST(ArrayFile, EveryTruncationOfNpyIsRefused) {
  const TestFolder folder;
  const std::string whole = Npy("<f4", "6", BytesOf(kNumbers));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(Refusal(ReadOnly(folder.Write("a.npy", whole.substr(0, length))).status()), HasSubstr("a.npy: "));
  }
}

TEST(ArrayFile, NpzStoredAndDeflated) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a.npz";
  for (const int level : {0, 9}) {
    WriteZip(path,
             {{"train/x.npy", Npy("<f4", "6", BytesOf(kNumbers))},
              {"note.txt", "no array"},
              {"zeros.npy", Npy("|u1", "1000, 1000", std::string(1'000'000, '\0'))}},
             level);
    const auto file = ArrayFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT((*file)->keys(), ElementsAre("train/x", "zeros"));
    EXPECT_THAT((*file)->Read("zeros")->sizes, ElementsAre(1000, 1000));
    EXPECT_EQ(BytesOf((*file)->Read("train/x")->bytes), BytesOf(kNumbers));
  }
}

TEST(ArrayFile, DamagedNpzIsRefusedAndNeverChangesTheElements) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a.npz";
  for (const int level : {0, 9}) {
    WriteZip(path, {{"x.npy", Npy("<f4", "6", BytesOf(kNumbers))}}, level);
    const std::string whole = *ReadFile(path, 1 << 20);
    int refused = 0;
    for (size_t byte = 0; byte < whole.size(); ++byte) {
      std::string damaged = whole;
      damaged[byte] ^= 0x10;
      const auto array = ReadFirst(folder.Write("a.npz", damaged));
      refused += !array.ok();
      if (array.ok()) {
        EXPECT_EQ(BytesOf(array->bytes), BytesOf(kNumbers)) << byte;
      }
    }
    EXPECT_GT(refused, 40);
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(ReadFirst(folder.Write("a.npz", whole.substr(0, length))).ok()) << length;
    }
    for (const std::string& more : {std::string(1, '\0'), std::string("x"), std::string(60'000, 'x')}) {
      EXPECT_THAT(Refusal(ReadFirst(folder.Write("a.npz", whole + more)).status()), HasSubstr("nothing behind it"));
    }
    const std::string more(100'000, 'x');  // the end of the archive is looked for in the file's last 64 KiB
    EXPECT_FALSE(ReadFirst(folder.Write("a.npz", whole + more)).ok());
  }
}

TEST(ArrayFile, NpzMayEndWithAComment) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a.npz";
  WriteZip(path, {{"x.npy", Npy("<f4", "6", BytesOf(kNumbers))}}, 9);
  std::string bytes = *ReadFile(path, 1 << 20);
  bytes[bytes.size() - 2] = 4;  // the comment's length
  EXPECT_THAT(Refusal(ReadFirst(folder.Write("a.npz", bytes)).status()), HasSubstr("a.npz: "));
  const auto array = ReadFirst(folder.Write("a.npz", bytes + "note"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(BytesOf(array->bytes), BytesOf(kNumbers));
}

TEST(ArrayFile, NpzWithoutArrays) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a.npz";
  WriteZip(path, {{"note.txt", "no array"}}, 9);
  EXPECT_THAT(Refusal(ArrayFile::Open(path).status()),
              HasSubstr("a.npz: is a zip archive; expected an archive with members that end in .npy"));
  WriteZip(path, {{"archive/data.pkl", "no array"}}, 0);
  EXPECT_THAT(Refusal(ArrayFile::Open(path).status()),
              HasSubstr("a.npz: is a PyTorch checkpoint (torch.save); expected"));
  WriteZip(path, {{"x.npy", "no array"}}, 9);
  EXPECT_THAT(Refusal(ReadOnly(path, "x").status()), HasSubstr("a.npz: array 'x': offset 0: found other bytes"));
}

TEST(ArrayFile, NpzSkipsFilesOfOtherSystems) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a.npz";
  WriteZip(path,
           {{"__MACOSX/._x.npy", "no array"}, {"._x.npy", "no array"}, {"x.NPY", Npy("<f4", "6", BytesOf(kNumbers))}},
           9);
  const auto file = ArrayFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT((*file)->keys(), ElementsAre("x"));
}

// A reader that stops at the first of several, or begins with the last, would read half of the data without a word.
TEST(ArrayFile, NothingThatIsPutBehindAFileIsLost) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a", npy = Npy("<f4", "6", BytesOf(kNumbers));
  WriteZip(path, {{"x.npy", npy}}, 9);
  const std::string npz = *ReadFile(path, 1 << 20), idx = IdxBytes({6}, "abcdef");
  ASSERT_TRUE(
      SaveSafetensors(path, std::vector<NamedTensor>{{"x", DType::kF32, {6}, std::as_bytes(std::span(kNumbers))}}, {})
          .ok());
  const std::string tensors = *ReadFile(path, 1 << 20);
  for (const std::string& whole : {npy, npz, idx, tensors, Gzip(idx)}) {
    EXPECT_FALSE(ReadFirst(folder.Write("a", whole + whole)).ok()) << whole.substr(0, 6);
  }
  // Members of gzip are one file.
  const auto parts = ReadOnly(folder.Write("a", Gzip(idx.substr(0, 9)) + Gzip(idx.substr(9))));
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(BytesOf(parts->bytes), "abcdef");
}

TEST(ArrayFile, SafetensorsAndIdx) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a.safetensors";
  const std::vector<NamedTensor> tensors = {{"x", DType::kF32, {6}, std::as_bytes(std::span(kNumbers))},
                                            {"half", DType::kBF16, {12}, std::as_bytes(std::span(kNumbers))},
                                            {"one", DType::kF32, {}, std::as_bytes(std::span(kNumbers).first(1))}};
  ASSERT_TRUE(SaveSafetensors(path, tensors, {}).ok());
  EXPECT_EQ(BytesOf(ReadOnly(path, "x")->bytes), BytesOf(kNumbers));
  EXPECT_EQ(ReadOnly(path, "half")->type, ElementType::kBF16);
  EXPECT_THAT(Refusal(ReadOnly(path, "one").status()), HasSubstr("array 'one': found an array without dimensions"));
  for (const std::string& bytes : {IdxBytes({2, 3}, "abcdef"), Gzip(IdxBytes({2, 3}, "abcdef"))}) {
    const auto array = ReadOnly(folder.Write("i", bytes));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_THAT(array->sizes, ElementsAre(2, 3));
  }
}

TEST(ArrayFile, WhatIsNoneOfThemIsSaid) {
  const TestFolder folder;
  EXPECT_THAT(Refusal(ArrayFile::Open(folder.Write("a", "x,y\n1,2\n")).status()),
              HasSubstr("/a: is text; expected .npy, .npz, safetensors or IDX; numpy.loadtxt and numpy.savez make"));
  EXPECT_THAT(Refusal(ArrayFile::Open(folder.Write("a", "")).status()), HasSubstr("/a: is an empty file; expected"));
  EXPECT_THAT(
      Refusal(ArrayFile::Open(folder.Write("a",
                                           "\xff\xd8\xff\xe0"
                                           "1234567890"))
                  .status()),
      HasSubstr("/a: is a JPEG picture; expected .npy, .npz, safetensors or IDX; pictures are read from a folder"));
  EXPECT_THAT(Refusal(ArrayFile::Open(folder.path()).status()), HasSubstr("found a directory"));
  EXPECT_THAT(Refusal(ArrayFile::Open(folder.path() + "/none").status()), HasSubstr("/none: cannot open"));
}

TEST(ArrayFile, RandomBytesNeverCrash) {
  const TestFolder folder;
  std::mt19937 random(1);
  const std::string beginnings[] = {"\x93NUMPY\x01", "PK\x03\x04", std::string("\0\0\x0d\x01", 4)};
  for (int i = 0; i < 300; ++i) {
    std::string bytes = beginnings[i % 3];
    for (size_t length = random() % 100; length > 0; --length) bytes += static_cast<char>(random());
    EXPECT_FALSE(ReadOnly(folder.Write("a", bytes)).ok());
  }
}

}  // namespace
}  // namespace partita
