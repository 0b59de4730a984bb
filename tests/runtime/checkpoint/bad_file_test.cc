// Files that break one rule each, and what is said about them; and the odd but legal ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/checkpoint/safetensors.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

std::string FileOf(uint64_t length, const std::string& rest) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> 8 * i));
  return bytes + rest;
}

std::string FileOf(const std::string& json, size_t data = 0) {
  return FileOf(json.size(), json + std::string(data, '\x01'));
}

std::string ErrorOf(const std::string& bytes) {
  const auto file = SafetensorsFile::Parse("f", bytes);
  if (file.ok()) return "accepted";
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(file.status().message());
}

// A tensor entry with four bytes, of which one field can be replaced.
std::string Entry(const std::string& dtype = R"("F32")", const std::string& shape = "[1]",
                  const std::string& offsets = "[0,4]") {
  return R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

struct Case {
  const char* name;
  std::string bytes;
  const char* message;
};

class BadFile : public ::testing::TestWithParam<Case> {};

TEST_P(BadFile, IsRefusedWithItsSentence) { EXPECT_THAT(ErrorOf(GetParam().bytes), HasSubstr(GetParam().message)); }

const std::string kTwo = R"({"a":)" + Entry() + R"(,"b":)";

const Case kFrame[] = {
    {"Empty", "", "f: found 0 bytes, a file has at least 8"},
    {"SevenBytes", std::string(7, '\0'), "f: found 7 bytes"},
    {"HeaderOfNothing", FileOf(0, ""), "offset 8: found \"\", a header begins with '{'"},
    {"HeaderLongerThanFile", FileOf(3, "{}"), "offset 0: found a header length of 3, the file has 2 bytes behind it"},
    {"HeaderAboveTheLimit", FileOf(100'000'001, "{}"),
     "found a header length of 100000001, allowed are at most 100000000"},
    {"HeaderLength2To63", FileOf(uint64_t{1} << 63, "{}"), "found a header length of 9223372036854775808"},
    {"HeaderLengthAllOnes", FileOf(~uint64_t{0}, "{}"), "found a header length of 18446744073709551615"},
    {"BeginsWithSpace", FileOf(" {}"), "offset 8: found \" \", a header begins with '{'"},
    {"ByteOrderMark", FileOf("\xef\xbb\xbf{}"), "a header begins with '{'"},
    {"Array", FileOf("[]"), "offset 8: found \"[\""},
    {"EndsWithTab", FileOf("{}\t"), "offset 10: found \"\\t\", a header ends with '}' and spaces"},
    {"TextBehindTheHeader", FileOf("{}x"), "offset 10: found \"x\""},
    {"NulInTheHeader", FileOf(std::string("{}\0}", 4)), "offset 10: found a NUL byte in the header"},
    {"TwoObjects", FileOf("{}{}"), "offset 10: found a header that is not JSON"},
    {"BytesBehindTheTensors", FileOf("{}", 1), "found 1 bytes behind the header, its tensors have 0"},
};

const Case kJson[] = {
    {"BadUtf8", FileOf("{\"\xff\":1}"), "offset 10: found a header that is not JSON in UTF-8"},
    {"OverlongUtf8", FileOf("{\"\xc0\xaf\":1}"), "not JSON in UTF-8"},
    {"LoneSurrogate", FileOf(R"({"\ud800":1})"), "not JSON in UTF-8"},
    {"TrailingComma", FileOf(R"({"a":)" + Entry() + ",}", 4), "not JSON in UTF-8"},
    {"Comment", FileOf("{/* */}"), "not JSON in UTF-8"},
    {"Unclosed", FileOf(R"({"__metadata__":{}   )"), "not JSON in UTF-8"},
    {"DeepArrays", FileOf("{\"a\":" + std::string(100'000, '[') + "}"), "header entry \"a\": found a list"},
    {"DeepObjects", FileOf(R"({"a":{"dtype":)" + std::string(1000, '{') + "}"),
     "tensor \"a\": \"dtype\": found an object"},
};

const Case kEntries[] = {
    {"EntryIsNumber", FileOf(R"({"a":1})"), "header entry \"a\": found a number, allowed is an object"},
    {"EntryIsNull", FileOf(R"({"a":null})"), "found null, allowed is an object"},
    {"EntryIsList", FileOf(R"({"a":["F32",[1],[0,4]]})", 4), "found a list, allowed is an object"},
    {"NoDtype", FileOf(R"({"a":{"shape":[],"data_offsets":[0,4]}})", 4), "tensor \"a\": \"dtype\": found none"},
    {"NoShape", FileOf(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), "\"shape\": found none"},
    {"NoOffsets", FileOf(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "\"data_offsets\": found none"},
    {"UnknownField", FileOf(R"({"a":{"stride":[1]}})"), "\"stride\": found an unknown field, allowed are dtype"},
    {"UnknownDtype", FileOf("{\"a\":" + Entry(R"("F33")") + "}", 4), "found \"F33\", which is no type of the format"},
    {"DtypeIsNumber", FileOf("{\"a\":" + Entry("32") + "}", 4), "\"dtype\": found a number, allowed is a text"},
    {"ShapeIsText", FileOf("{\"a\":" + Entry(R"("F32")", R"("1")") + "}", 4),
     "\"shape\": found a text, allowed is a list"},
    {"NegativeSize", FileOf("{\"a\":" + Entry(R"("F32")", "[-1]") + "}", 4),
     "found a negative number, allowed is a whole"},
    {"FractionalSize", FileOf("{\"a\":" + Entry(R"("F32")", "[1.0]") + "}", 4),
     "found a number that is no 64-bit integer"},
    {"Size2To63", FileOf("{\"a\":" + Entry(R"("F32")", "[9223372036854775808]") + "}", 4),
     "found a number of 2^63 or more"},
    {"Size2To64", FileOf("{\"a\":" + Entry(R"("F32")", "[18446744073709551616]") + "}", 4),
     "found a number that is no 64"},
    {"TextInShape", FileOf("{\"a\":" + Entry(R"("F32")", R"(["1"])") + "}", 4), "\"shape\": found a text"},
    {"NestedShape", FileOf("{\"a\":" + Entry(R"("F32")", "[[1]]") + "}", 4), "\"shape\": found a list"},
    {"TooManyDimensions",
     FileOf("{\"a\":" +
                Entry(R"("F32")", "[" +
                                      [] {
                                        std::string ones = "1";
                                        for (int i = 0; i < 64; ++i) ones += ",1";
                                        return ones;
                                      }() +
                                      "]") +
                "}",
            4),
     "found more than 64 numbers"},
    {"OneOffset", FileOf("{\"a\":" + Entry(R"("F32")", "[1]", "[0]") + "}", 4), "found 1 numbers, allowed are 2"},
    {"ThreeOffsets", FileOf("{\"a\":" + Entry(R"("F32")", "[1]", "[0,4,8]") + "}", 4),
     "found 3 numbers, allowed are 2"},
    {"MetadataIsText", FileOf(R"({"__metadata__":"x"})"), "header entry \"__metadata__\": found a text"},
    {"MetadataIsNull", FileOf(R"({"__metadata__":null})"), "found null, allowed is an object"},
    {"MetadataOfNumbers", FileOf(R"({"__metadata__":{"a":1}})"),
     "__metadata__ \"a\": found a number, allowed is a text"},
    {"MetadataNested", FileOf(R"({"__metadata__":{"a":{}}})"),
     "__metadata__ \"a\": found an object, allowed is a text"},
    {"SameTensorTwice", FileOf(kTwo.substr(0, kTwo.size() - 4) + R"("a":)" + Entry() + "}", 4), "the key \"a\" twice"},
    {"SameFieldTwice", FileOf(R"({"a":{"dtype":"F32","dtype":"F32"}})"), "found the key \"dtype\" twice"},
    {"SameMetadataTwice", FileOf(R"({"__metadata__":{"a":"b","a":"b"}})"), "found the key \"a\" twice"},
    {"TwoMetadata", FileOf(R"({"__metadata__":{},"__metadata__":{}})"), "found the key \"__metadata__\" twice"},
    {"NameIsEscaped", FileOf(R"({"\u001b[31m":1})"), "header entry \"\\u001b[31m\": found a number"},
};

const Case kTiling[] = {
    {"HoleAtTheBegin", FileOf("{\"a\":" + Entry(R"("F32")", "[1]", "[4,8]") + "}", 8),
     "found [4,8], allowed is a begin at 0"},
    {"HoleInTheMiddle", FileOf(kTwo + Entry(R"("F32")", "[1]", "[8,12]") + "}", 12),
     "\"b\": data_offsets: found [8,12]"},
    {"HoleAtTheEnd", FileOf("{\"a\":" + Entry() + "}", 8), "found 8 bytes behind the header, its tensors have 4"},
    {"Overlap", FileOf(kTwo + Entry(R"("F32")", "[1]", "[2,6]") + "}", 6), "\"b\": data_offsets: found [2,6]"},
    {"SamePlace", FileOf(kTwo + Entry() + "}", 4), "\"b\": data_offsets: found [0,4], allowed is a begin at 4"},
    {"Reversed", FileOf("{\"a\":" + Entry(R"("F32")", "[1]", "[4,0]") + "}", 4),
     "found [4,0], allowed is a begin at 0"},
    {"BeyondTheFile", FileOf("{\"a\":" + Entry() + "}", 3), "found 3 bytes behind the header, its tensors have 4"},
    {"WrongSize", FileOf("{\"a\":" + Entry(R"("F32")", "[2]") + "}", 4), "found 4 bytes, F32[2] has 8"},
    {"ScalarOfNothing", FileOf("{\"a\":" + Entry(R"("F32")", "[]", "[0,0]") + "}"), "found 0 bytes, F32[] has 4"},
    {"ProductOverflows", FileOf("{\"a\":" + Entry(R"("F32")", "[4294967296,4294967296]") + "}", 4),
     "shape: found F32[4294"},
    {"BitsOverflow", FileOf("{\"a\":" + Entry(R"("F64")", "[1152921504606846976]") + "}", 4),
     "shape: found F64[115292"},
    {"OverflowBeforeZero", FileOf("{\"a\":" + Entry(R"("U8")", "[4294967296,4294967296,0]", "[0,0]") + "}"),
     "shape: found"},
    {"HalfAByte", FileOf("{\"a\":" + Entry(R"("F4")", "[3]", "[0,2]") + "}", 2), "allowed is a whole number of bytes"},
    {"SixBitsNotFull", FileOf("{\"a\":" + Entry(R"("F6_E2M3")", "[2]", "[0,2]") + "}", 2), "a whole number of bytes"},
    {"WrongChecksum", FileOf(R"({"__metadata__":{"partita.xxh3":"00"}})"),
     "its metadata says \"00\": the file was damaged"},
};

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Frame, BadFile, ::testing::ValuesIn(kFrame), NameOf);
INSTANTIATE_TEST_SUITE_P(Json, BadFile, ::testing::ValuesIn(kJson), NameOf);
INSTANTIATE_TEST_SUITE_P(Entries, BadFile, ::testing::ValuesIn(kEntries), NameOf);
INSTANTIATE_TEST_SUITE_P(Tiling, BadFile, ::testing::ValuesIn(kTiling), NameOf);

TEST(OddFile, IsAccepted) {
  const std::string cases[] = {
      FileOf("{}"),
      FileOf("{}      "),
      FileOf("{\n\t\"__metadata__\" : { } }"),
      FileOf("{\"a\":" + Entry() + "}", 4),
      FileOf(kTwo + Entry(R"("F4")", "[2,3]", "[4,7]") + "}", 7),
      FileOf("{\"b\":" + Entry(R"("I8")", "[1]", "[4,5]") + ",\"a\":" + Entry() + "}",
             5),  // not in the order of the data
      FileOf(kTwo + Entry(R"("F32")", "[0]", "[4,4]") + ",\"c\":" + Entry(R"("U8")", "[9,0]", "[4,4]") + "}", 4),
      FileOf(kTwo + Entry(R"("F6_E3M2")", "[4]", "[4,7]") + "}", 7),
      FileOf("{\"\":" + Entry() + "}", 4),
      FileOf("{\"\\u00e4\\ud83d\\ude00\":" + Entry("\"BF16\"", "[2]") + "}", 4),
  };
  for (const std::string& bytes : cases) EXPECT_EQ(ErrorOf(bytes), "accepted") << bytes;
}

}  // namespace
}  // namespace partita
