// A message that another process sent may be anything: it is what was expected, or a sentence says what came.
#include "runtime/api/job/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/api/job/packed_values.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MessageKind kVotes = MessageKind::kStopVotes;

std::string FlawOf(const std::vector<MessageHeader>& headers, int64_t most_bytes = 100) {
  const absl::Status status = CheckHeaders({kVotes, "", most_bytes}, headers);
  EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
  return std::string(status.message());
}

TEST(Message, HeadersAreOfOneKindNumberAndBoundedSize) {
  EXPECT_THAT(FlawOf({{kVotes, 3, 8}, {kVotes, 3, 0}, {kVotes, 3, 100}}), IsEmpty());
  EXPECT_THAT(FlawOf({{MessageKind::kCheckpointShards, 3, 8}, {kVotes, 3, 8}}),
              HasSubstr("rank 1 sent 'votes to stop' while rank 0 expected 'checkpoint shards'"));
  EXPECT_THAT(FlawOf({{kVotes, 3, 8}, {kVotes, 3, 8}, {static_cast<MessageKind>(77), 3, 8}}),
              HasSubstr("rank 2 sent 'a message of kind 77' while rank 0 expected 'votes to stop'"));
  EXPECT_THAT(FlawOf({{kVotes, 3, 8}, {kVotes, 4, 8}}), HasSubstr("as its message 4 while rank 0 expected message 3"));
  EXPECT_THAT(FlawOf({{kVotes, 3, 8}, {kVotes, 3, 101}}), HasSubstr("rank 1 sent 101 bytes of 'votes to stop'"));
  EXPECT_THAT(FlawOf({{kVotes, 3, -1}, {kVotes, 3, 8}}), HasSubstr("rank 0 sent -1 bytes"));
}

TEST(Message, EveryKindHasAName) {
  for (uint32_t kind = 1; kind <= static_cast<uint32_t>(MessageKind::kCheckpointRecord); ++kind) {
    EXPECT_THAT(NameOf(static_cast<MessageKind>(kind)), ::testing::Not(HasSubstr("a message of kind"))) << kind;
  }
}

std::string SomeValues() {
  PackedValues packed;
  packed.Add(int64_t{5});
  packed.AddText("five");
  packed.AddStatus(absl::OkStatus());
  packed.Add(2.5);
  return packed.bytes();
}

struct Values {
  int64_t number = 0;
  std::string text;
  absl::Status status;
  double real = 0;
};

absl::Status Read(const std::string& bytes, Values& values) {
  PackedReader reader(kVotes, 1, bytes);
  values.number = reader.NextBelow(10);
  values.text = reader.NextText();
  values.status = reader.NextStatus();
  values.real = reader.Next<double>();
  return reader.Finish();
}

TEST(PackedReader, ReadsWhatWasPacked) {
  Values values;
  ASSERT_TRUE(Read(SomeValues(), values).ok());
  EXPECT_EQ(values.number, 5);
  EXPECT_EQ(values.text, "five");
  EXPECT_TRUE(values.status.ok());
  EXPECT_EQ(values.real, 2.5);
}

TEST(PackedReader, RefusesEveryTruncation) {
  const std::string bytes = SomeValues();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Values values;
    const absl::Status status = Read(bytes.substr(0, size), values);
    EXPECT_TRUE(absl::IsUnavailable(status)) << size;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 sent damaged 'votes to stop'")) << size;
  }
  Values values;
  EXPECT_THAT(std::string(Read(bytes + "x", values).message()), HasSubstr("bytes; expected"));
}

TEST(PackedReader, StaysWithinItsBytesWhateverTheyAre) {
  const std::string bytes = SomeValues();
  for (size_t place = 0; place < bytes.size(); ++place) {
    for (int value = 0; value < 256; ++value) {
      std::string mutant = bytes;
      mutant[place] = static_cast<char>(value);
      Values values;
      if (!Read(mutant, values).ok()) continue;
      EXPECT_GE(values.number, 0);
      EXPECT_LT(values.number, 10);
      EXPECT_LE(values.text.size(), bytes.size());
    }
  }
}

TEST(PackedReader, AFlawMakesTheRestZeroAndEndsLoops) {
  const std::string bytes(24, '\x7f');
  PackedReader reader(kVotes, 1, bytes);
  EXPECT_EQ(reader.NextBelow(10), 0);
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(reader.Next<int64_t>(), 0);
  EXPECT_EQ(reader.NextBytes(0), nullptr);
  EXPECT_EQ(reader.NextText(), "");
  EXPECT_FALSE(reader.Finish().ok());
}

TEST(PackedReader, AnErrorThatWasSentIsNeverOk) {
  for (const int code : {-1, 1, 3, 16, 17, 1 << 30}) {
    PackedValues packed;
    packed.Add(code);
    packed.AddText("it burns");
    PackedReader reader(kVotes, 1, packed.bytes());
    const absl::Status status = reader.NextStatus();
    EXPECT_TRUE(reader.Finish().ok());
    EXPECT_FALSE(status.ok()) << code;
    EXPECT_EQ(status.code() == absl::StatusCode::kUnavailable, code < 1 || code > 16) << code;
  }
}

}  // namespace
}  // namespace partita
