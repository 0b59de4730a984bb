// Arrays as the fields that a graph wants: which types and sizes become which, and the sentence for each that cannot.
#include "runtime/data/arrays/array_set.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/runtime/data/arrays/array_bytes.h"
#include "tests/runtime/data/idx_bytes.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
constexpr ElementType kTypeOf = std::is_same_v<T, float>      ? ElementType::kF32
                                : std::is_same_v<T, double>   ? ElementType::kF64
                                : std::is_same_v<T, int64_t>  ? ElementType::kI64
                                : std::is_same_v<T, uint64_t> ? ElementType::kU64
                                : std::is_same_v<T, int32_t>  ? ElementType::kI32
                                : std::is_same_v<T, uint32_t> ? ElementType::kU32
                                : std::is_same_v<T, int16_t>  ? ElementType::kI16
                                : std::is_same_v<T, uint16_t> ? ElementType::kU16
                                : std::is_same_v<T, int8_t>   ? ElementType::kI8
                                                              : ElementType::kU8;

template <typename T>
Array ArrayOf(std::vector<int64_t> sizes, const std::vector<T>& values) {
  const std::string bytes = BytesOf(values);
  return {kTypeOf<T>, std::move(sizes), {bytes.begin(), bytes.end()}};
}

absl::StatusOr<ArrayField> Make(Array array, DType dtype, Shape row, int64_t classes = 0, const ByteScale& scale = {}) {
  return MakeArrayField("f.npy", std::move(array), {{"x", dtype, std::move(row)}, classes}, scale);
}

template <typename T>
std::vector<T> ValuesOf(const absl::StatusOr<ArrayField>& field) {
  EXPECT_TRUE(field.ok()) << field.status();
  if (!field.ok()) return {};
  std::vector<T> values(field->bytes.size() / sizeof(T));
  std::copy(field->bytes.begin(), field->bytes.end(), reinterpret_cast<uint8_t*>(values.data()));
  return values;
}

std::string Refusal(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(ArrayField, BecomesTheGraphsType) {
  EXPECT_THAT(ValuesOf<float>(Make(ArrayOf<double>({2}, {0.1, -3}), DType::kF32, {})), ElementsAre(0.1F, -3));
  EXPECT_THAT(ValuesOf<double>(Make(ArrayOf<float>({2}, {0.1F, -3}), DType::kF64, {})), ElementsAre(0.1F, -3));
  EXPECT_THAT(ValuesOf<int32_t>(Make(ArrayOf<int64_t>({2}, {7, -7}), DType::kI32, {})), ElementsAre(7, -7));
  EXPECT_THAT(ValuesOf<int32_t>(Make(ArrayOf<int8_t>({2}, {7, -7}), DType::kI32, {})), ElementsAre(7, -7));
  EXPECT_THAT(ValuesOf<int32_t>(Make(ArrayOf<uint8_t>({2}, {7, 255}), DType::kI32, {})), ElementsAre(7, 255));
  EXPECT_THAT(ValuesOf<uint8_t>(Make(ArrayOf<uint8_t>({2}, {7, 255}), DType::kU8, {})), ElementsAre(7, 255));
}

// Of a type that C++ has not.
Array OfBits(ElementType type, const std::vector<uint16_t>& bits) {
  const std::string bytes = BytesOf(bits);
  return {type, {static_cast<int64_t>(bits.size())}, {bytes.begin(), bytes.end()}};
}

TEST(ArrayField, HalvesAreExactInF32) {
  const float least = std::ldexp(1.0F, -24);
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const auto f16 = Make(
        OfBits(ElementType::kF16, {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x0400, 0x3555}), dtype, {});
    const auto bf16 = Make(OfBits(ElementType::kBF16, {0x3f80, 0xc000, 0x0001, 0x7f7f}), dtype, {});
    if (dtype == DType::kF32) {
      EXPECT_THAT(ValuesOf<float>(f16),
                  ElementsAre(0, 0, 1, -2, 65504, least, 1023 * least, 1024 * least, 0x1.554p-2F));
      EXPECT_THAT(ValuesOf<float>(bf16), ElementsAre(1, -2, 0x1p-133F, 0x1.fep127F));
    } else {
      EXPECT_THAT(ValuesOf<double>(f16),
                  ElementsAre(0, 0, 1, -2, 65504, least, 1023 * least, 1024 * least, 0x1.554p-2));
      EXPECT_THAT(ValuesOf<double>(bf16), ElementsAre(1, -2, 0x1p-133, 0x1.fep127));
    }
  }
  EXPECT_THAT(Refusal(Make(OfBits(ElementType::kF16, {0x3c00, 0x7c00}), DType::kF32, {}).status()),
              HasSubstr("row 1 is inf"));
  EXPECT_THAT(Refusal(Make(OfBits(ElementType::kF16, {0x7e00}), DType::kF32, {}).status()), HasSubstr("row 0 is nan"));
  EXPECT_THAT(Refusal(Make(OfBits(ElementType::kBF16, {0x7f80}), DType::kF32, {}).status()), HasSubstr("row 0 is inf"));
}

// Each type of integer for each of the graph's: taken where the value is held exactly, else refused with its row.
TEST(ArrayField, IntegersAreTakenWhereTheyFit) {
  const auto check = [](auto type) {
    using From = decltype(type);
    EXPECT_THAT(ValuesOf<float>(Make(ArrayOf<From>({2}, {0, 100}), DType::kF32, {})), ElementsAre(0, 100));
    EXPECT_THAT(ValuesOf<double>(Make(ArrayOf<From>({2}, {0, 100}), DType::kF64, {})), ElementsAre(0, 100));
    EXPECT_THAT(ValuesOf<int32_t>(Make(ArrayOf<From>({2}, {0, 100}), DType::kI32, {})), ElementsAre(0, 100));
    EXPECT_THAT(ValuesOf<uint8_t>(Make(ArrayOf<From>({2}, {0, 100}), DType::kU8, {})), ElementsAre(0, 100));
    if constexpr (std::is_signed_v<From>) {
      EXPECT_THAT(Refusal(Make(ArrayOf<From>({2}, {0, -1}), DType::kU8, {}).status()),
                  HasSubstr("row 1 is -1, which is no u8"));
      EXPECT_THAT(ValuesOf<float>(Make(ArrayOf<From>({1}, {-1}), DType::kF32, {})), ElementsAre(-1));
    }
    if constexpr (sizeof(From) > 1) {
      EXPECT_THAT(Refusal(Make(ArrayOf<From>({2}, {0, 256}), DType::kU8, {}).status()),
                  HasSubstr("row 1 is 256, which is no u8"));
    }
    if constexpr (sizeof(From) >= 4) {
      EXPECT_THAT(Refusal(Make(ArrayOf<From>({1}, {(1 << 24) + 1}), DType::kF32, {}).status()),
                  HasSubstr("row 0 is 16777217, which is no f32"));
    }
  };
  check(int8_t{});
  check(uint16_t{});
  check(int16_t{});
  check(uint32_t{});
  check(int32_t{});
  check(uint64_t{});
  check(int64_t{});
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kU8}) {
    EXPECT_THAT(Refusal(Make(ArrayOf<uint64_t>({1}, {most}), dtype, {}).status()),
                HasSubstr("row 0 is 18446744073709551615"));
  }
  EXPECT_THAT(Refusal(Make(ArrayOf<uint32_t>({1}, {1U << 31}), DType::kI32, {}).status()),
              HasSubstr("is 2147483648, which is no i32"));
}

TEST(ArrayField, TruthValuesAreZeroAndOne) {
  const Array truth{ElementType::kBool, {3}, {0, 1, 7}};
  EXPECT_THAT(ValuesOf<float>(Make(truth, DType::kF32, {})), ElementsAre(0, 1, 1));
  EXPECT_THAT(ValuesOf<int32_t>(Make(truth, DType::kI32, {})), ElementsAre(0, 1, 1));
  EXPECT_THAT(ValuesOf<uint8_t>(Make(truth, DType::kU8, {})), ElementsAre(0, 1, 1));
}

TEST(ArrayField, BytesAreScaled) {
  const auto table = [](const ByteScale& scale, Shape row) {
    const auto field = Make(ArrayOf<uint8_t>({1, 2}, {0, 255}), DType::kF32, std::move(row), 0, scale);
    EXPECT_TRUE(field.ok()) << field.status();
    return field->table;
  };
  EXPECT_EQ(table({}, {2})[255], 1);
  EXPECT_EQ(table({.scale = 2}, {2})[255], 510);
  EXPECT_EQ(table({{}, {0.5}, {0.25}}, {2})[255], 2);
  const std::vector<double> of_channels = table({{}, {0, 1}, {1, 2}}, {2});
  EXPECT_EQ(of_channels.size(), 512U);
  EXPECT_EQ(of_channels[256], -0.5);
}

TEST(ArrayField, RowsMayDifferInSizesOfOneAndBeFlat) {
  const Array image = ArrayOf<float>({2, 1, 2, 3}, std::vector<float>(12, 1));
  EXPECT_TRUE(Make(image, DType::kF32, {2, 3, 1}).ok());
  EXPECT_TRUE(Make(image, DType::kF32, {6}).ok());
  EXPECT_THAT(Refusal(Make(image, DType::kF32, {3, 2, 1}).status()),
              HasSubstr("f.npy: field 'x': found f32[2,1,2,3], the graph takes f32[3,2,1] in each row"));
  EXPECT_THAT(Refusal(Make(image, DType::kF32, {5}).status()), HasSubstr("the graph takes f32[5]"));
}

TEST(ArrayField, TypesThatAreNotTaken) {
  EXPECT_THAT(Refusal(Make(ArrayOf<float>({1}, {1}), DType::kI32, {}).status()),
              HasSubstr("found elements of f32, the graph takes i32, which is made of integers"));
  EXPECT_THAT(Refusal(Make(ArrayOf<double>({1}, {1}), DType::kU8, {}).status()), HasSubstr("made of integers"));
  EXPECT_THAT(Refusal(Make(OfBits(ElementType::kF16, {0}), DType::kI32, {}).status()),
              HasSubstr("found elements of f16"));
  EXPECT_THAT(Refusal(Make(ArrayOf<float>({1}, {1}), DType::kF32, {}, 0, {.scale = 2}).status()),
              HasSubstr("u8 for floating inputs is scaled"));
}

TEST(ArrayField, ValuesThatCannotBe) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Refusal(Make(ArrayOf<float>({2, 2}, {1, 1, 1, NAN}), DType::kF32, {2}).status()),
              HasSubstr("f.npy: field 'x': row 1, element 1 is nan, allowed are finite numbers"));
  EXPECT_THAT(Refusal(Make(ArrayOf<double>({2}, {1, -inf}), DType::kF64, {}).status()), HasSubstr("row 1 is -inf"));
  EXPECT_THAT(Refusal(Make(ArrayOf<double>({2}, {1, 1e300}), DType::kF32, {}).status()),
              HasSubstr("row 1 is 1e+300, allowed are finite numbers of f32"));
  EXPECT_THAT(Refusal(Make(ArrayOf<int64_t>({2}, {1, int64_t{1} << 31}), DType::kI32, {}).status()),
              HasSubstr("row 1 is 2147483648, which is no i32"));
  for (const int64_t label : {-1, 3}) {
    EXPECT_THAT(Refusal(Make(ArrayOf<int64_t>({2}, {2, label}), DType::kI32, {}, 3).status()),
                HasSubstr(fmt::format("row 1 is label {}, the graph's classes are 0 to 2", label)));
  }
  const WantedField ignoring{.field = {"x", DType::kI32, {}}, .classes = 3, .ignored = -100};
  EXPECT_TRUE(MakeArrayField("f.npy", ArrayOf<int64_t>({3}, {2, -100, 0}), ignoring, {}).ok());
  EXPECT_THAT(Refusal(MakeArrayField("f.npy", ArrayOf<int64_t>({2}, {-100, -1}), ignoring, {}).status()),
              HasSubstr("row 1 is label -1, the graph's classes are 0 to 2, and it ignores -100"));
  const WantedField ids{{"x", DType::kI32, {2}}, 3, true, true};
  EXPECT_THAT(Refusal(MakeArrayField("f.npy", ArrayOf<int32_t>({2, 2}, {0, 1, 2, 3}), ids, {}).status()),
              HasSubstr("field 'x': row 1, element 1 is id 3, the graph's rows are 0 to 2"));
  for (const int32_t length : {-1, 6}) {
    const WantedField lengths{.field = {"x", DType::kI32, {}}, .places = 5};
    EXPECT_THAT(
        Refusal(MakeArrayField("f.npy", ArrayOf<int32_t>({3}, {0, 5, length}), lengths, {}).status()),
        HasSubstr(fmt::format("field 'x': row 2 is length {}, the graph's sequences have 0 to 5 places", length)));
  }
}

TEST(ArrayField, ScalesThatCannotBe) {
  for (const ByteScale& scale : {ByteScale{1, {1}, {1}}, ByteScale{{}, {1}, {}}, ByteScale{{}, {1, 1, 1}, {1, 1, 1}},
                                 ByteScale{{}, {1}, {0}}, ByteScale{NAN, {}, {}}}) {
    EXPECT_THAT(Refusal(Make(ArrayOf<uint8_t>({1, 2}, {1, 2}), DType::kF32, {2}, 0, scale).status()),
                HasSubstr("f.npy: field 'x': "));
  }
}

class ArraySet : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& sizes, size_t elements) {
    return folder_.Write(name, Npy("<f4", sizes, BytesOf(std::vector<float>(elements, 1))));
  }
  std::string RefusalOf(const std::vector<FieldFile>& files) {
    return Refusal(ReadArraySet("the set", files, wanted_).status());
  }

  const TestFolder folder_;
  const std::vector<WantedField> wanted_ = {
      {{"x", DType::kF32, {2}}}, {{"target", DType::kF32, {}}}, {{"unread", DType::kF32, {}}, 0, false}};
};

TEST_F(ArraySet, ReadsWhatIsNeededInTheGraphsOrder) {
  const std::string x = Write("x.npy", "3, 2", 6), target = Write("t.npy", "3", 3);
  const auto fields =
      ReadArraySet("s", {{"unread", "/none", "", {}}, {"target", target, "", {}}, {"x", x, "", {}}}, wanted_);
  ASSERT_TRUE(fields.ok()) << fields.status();
  ASSERT_EQ(fields->fields.size(), 2U);
  EXPECT_EQ(fields->fields[0].field.name, "x");
  EXPECT_EQ(fields->fields[1].rows, 3);
  EXPECT_THAT(fields->ignored, ElementsAre());
}

TEST_F(ArraySet, NamesThatDoNotMeet) {
  const std::string x = Write("x.npy", "3, 2", 6), target = Write("t.npy", "3", 3);
  EXPECT_THAT(
      RefusalOf({{"x", x, "", {}}, {"tarjet", target, "", {}}}),
      HasSubstr("the set: no field fills the graph's input 'target', f32[] in each row; given are: x, tarjet; did "
                "you mean 'tarjet'?"));
  EXPECT_THAT(RefusalOf({{"x", x, "", {}}}), HasSubstr("no field fills the graph's input 'target', f32[] in each row"));
  EXPECT_THAT(RefusalOf({{"x", x, "", {}}, {"x", x, "", {}}}), HasSubstr("field 'x' is given twice"));
  EXPECT_THAT(RefusalOf({{"x", x, "", {}}, {"target", target, "t", {}}}),
              HasSubstr("t.npy: field 'target': found one array without a key, but the key 't' is given"));
}

TEST_F(ArraySet, ArraysThatTheGraphDoesNotTakeAreIgnored) {
  const std::string x = Write("x.npy", "3, 2", 6), target = Write("t.npy", "3", 3);
  const auto set = ReadArraySet(
      "s", {{"more", "/none", "", {}}, {"x", x, "", {}}, {"target", target, "", {}}, {"xs", "/none", "", {}}}, wanted_);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->ignored, ElementsAre("more", "xs"));
  EXPECT_EQ(set->fields.size(), 2U);
}

TEST_F(ArraySet, KeysThatAreMissing) {
  const std::string path = folder_.path() + "/a.npz", target = Write("t.npy", "3", 3);
  WriteZip(path, {{"xs.npy", Npy("<f4", "3, 2", BytesOf(std::vector<float>(6, 1)))}}, 9);
  EXPECT_TRUE(ReadArraySet("s", {{"x", path, "xs", {}}, {"target", target, "", {}}}, wanted_).ok());
  EXPECT_THAT(RefusalOf({{"x", path, "", {}}, {"target", target, "", {}}}),
              HasSubstr("a.npz: field 'x': there is no array 'x'; did you mean 'xs'?"));
}

TEST_F(ArraySet, RowsThatAreNotAsMany) {
  const std::string x = Write("x.npy", "3, 2", 6), target = Write("t.npy", "4", 4);
  EXPECT_THAT(RefusalOf({{"x", x, "", {}}, {"target", target, "", {}}}),
              HasSubstr("t.npy: field 'target': found 4 rows, field 'x' has 3 ("));
}

}  // namespace
}  // namespace partita
