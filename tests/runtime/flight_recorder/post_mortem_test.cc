// Who is to blame, by records that are made: a rank that hangs, one that died, sizes that differ, nobody.
#include "runtime/flight_recorder/post_mortem.h"

#include <gmock/gmock.h>

#include "runtime/flight_recorder/waits.h"

namespace partita {
namespace {

using Cause = PostMortem::Cause;
using State = FlownOperation::State;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'795'412'860 * kSecond + 123'000'000;  // 2026-11-23 05:47:40.123 UTC

// An all_reduce of 100 f32 that began so many seconds after the start.
FlownOperation Call(int group, int64_t sequence, double second, State state) {
  FlownOperation call{group, sequence, "all_reduce", 100, "f32", state, kStart + static_cast<int64_t>(second * kSecond),
                      0};
  if (state == State::kEnded) call.end = call.begin + kSecond / 1000;
  return call;
}

// Of four ranks; group 5 has all, 6 the first two, 7 the last two. It was taken 20 s after the start.
FlightRecord Rank(int rank, std::vector<FlownOperation> operations) {
  FlightRecord record{rank, 4, kStart + 20 * kSecond, "", {{5, {0, 1, 2, 3}}}, std::move(operations)};
  record.groups[rank < 2 ? 6 : 7] = rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3};
  return record;
}

FlightRecord Waiting(int rank, double second) {
  return Rank(rank, {Call(5, 16, 1, State::kEnded), Call(5, 17, second, State::kWaiting)});
}

TEST(PostMortem, ARankThatHangs) {
  const FlightRecord records[] = {Waiting(0, 10), Waiting(1, 10.5), Rank(2, {Call(5, 16, 1, State::kEnded)}),
                                  Waiting(3, 11)};
  const PostMortem found = FindCause(records);
  EXPECT_EQ(found.cause, Cause::kWaited);
  EXPECT_THAT(found.ranks, ElementsAre(2));
  EXPECT_EQ(
      found.sentence,
      "ranks 0, 1 and 3 waited for rank 2 in group 5 [0,1,2,3]: all_reduce of 100 f32 (sequence number 17), since "
      "2026-11-23 05:47:50.123 UTC, for 10.0 s; rank 2 was in no collective since it ended all_reduce of 100 f32 "
      "(sequence number 16) of group 5 [0,1,2,3], 19.0 s before");
}

// What its host has launched counts for nothing.
TEST(PostMortem, AGpuThatNeverCameToACollective) {
  const FlightRecord records[] = {Waiting(0, 10), Waiting(1, 10.5),
                                  Rank(2, {Call(5, 16, 1, State::kEnded), Call(5, 17, 9, State::kLaunched)}),
                                  Waiting(3, 11)};
  const PostMortem found = FindCause(records);
  EXPECT_EQ(found.cause, Cause::kWaited);
  EXPECT_THAT(found.ranks, ElementsAre(2));
  EXPECT_THAT(found.sentence,
              AllOf(HasSubstr("ranks 0, 1 and 3 waited for rank 2 in group 5 [0,1,2,3]"),
                    HasSubstr("s before, and its GPU had not come to all_reduce of 100 f32 (sequence number 17) of")));
}

TEST(PostMortem, ARankThatDied) {
  FlightRecord one = Waiting(0, 10);
  one.operations.back().state = State::kFailed;
  one.operations.back().end = kStart + 12 * kSecond;
  const FlightRecord records[] = {one, Waiting(1, 10.5), Waiting(3, 11)};
  const PostMortem found = FindCause(records);
  EXPECT_THAT(found.ranks, ElementsAre(2));
  EXPECT_THAT(found.sentence,
              AllOf(HasSubstr("ranks 0, 1 and 3 waited for rank 2 in group 5"),
                    HasSubstr("rank 2 left no record: it was killed or stopped, or its machine is gone")));
}

TEST(PostMortem, SizesThatDiffer) {
  FlightRecord other = Waiting(2, 11);
  other.operations.back().count = 120;
  const FlightRecord records[] = {Waiting(0, 10), Waiting(1, 10), other, Waiting(3, 10)};
  const PostMortem found = FindCause(records);
  EXPECT_EQ(found.cause, Cause::kMismatch);
  EXPECT_THAT(found.ranks, ElementsAre(0, 2));
  EXPECT_EQ(
      found.sentence,
      "in group 5 [0,1,2,3] rank 0 called all_reduce of 100 f32 (sequence number 17) and rank 2 all_reduce of 120 "
      "f32 (sequence number 17), which cannot meet");
  other.operations.back() = Call(5, 17, 11, State::kWaiting);
  other.operations.back().name = "broadcast";
  const FlightRecord another[] = {Waiting(0, 10), other};
  EXPECT_EQ(FindCause(another).cause, Cause::kMismatch);
}

TEST(PostMortem, EachRankHasASizeOfItsOwnInAnAllToAll) {
  FlightRecord first = Waiting(0, 10), second = Waiting(1, 10);
  for (FlightRecord* record : {&first, &second}) {
    record->operations.back().name = "all_to_all";
    record->operations.back().count = -1;
  }
  const FlightRecord records[] = {first, second};
  EXPECT_NE(FindCause(records).cause, Cause::kMismatch);
}

TEST(PostMortem, AllHealthy) {
  std::vector<FlightRecord> records;
  for (int rank = 0; rank < 4; ++rank) records.push_back(Rank(rank, {Call(5, 16, 1, State::kEnded)}));
  PostMortem found = FindCause(records);
  EXPECT_EQ(found.cause, Cause::kHealthy);
  EXPECT_TRUE(found.ranks.empty());
  EXPECT_EQ(found.sentence, "of 4 ranks nobody waited for another");
  records.erase(records.begin() + 2);
  records[0].fault = "rank 2 is gone";
  found = FindCause(records);
  EXPECT_THAT(found.ranks, ElementsAre(2));
  EXPECT_EQ(found.sentence, "of 4 ranks nobody waited for another; rank 2 left no record; rank 0 said: rank 2 is gone");
}

// 0 waits for 1 in group 6, 1 for 2 in group 5, 2 for 3 in group 7: it is 3 that does not go on.
TEST(PostMortem, FollowsAChainOfWaits) {
  const std::vector<FlightRecord> records = {Rank(0, {Call(6, 1, 4, State::kWaiting)}),
                                             Rank(1, {Call(5, 1, 3, State::kWaiting)}),
                                             Rank(2, {Call(7, 1, 2, State::kWaiting)}), Rank(3, {})};
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(RootOfWait(records, rank), 3);
  EXPECT_THAT(FindCause(records).sentence, AllOf(HasSubstr("rank 2 waited for rank 3 in group 7 [2,3]"),
                                                 HasSubstr("rank 3 had been in no collective")));
}

TEST(PostMortem, OneThatIsStillAtWorkInACollective) {
  std::vector<FlightRecord> records = {Waiting(0, 10), Waiting(1, 10), Waiting(2, 11), Waiting(3, 10)};
  records[2].operations.back().state = State::kRunning;
  EXPECT_EQ(RootOfWait(records, 0), 2);
  EXPECT_THAT(FindCause(records).sentence, HasSubstr("rank 2 was in all_reduce of 100 f32 (sequence number 17)"));
}

// The others have it behind them: it does not wake.
TEST(PostMortem, OneThatDidNotComeOutOfACollective) {
  const FlightRecord past = Rank(0, {Call(5, 17, 10, State::kEnded), Call(5, 18, 11, State::kWaiting)});
  const std::vector<FlightRecord> records = {past, Waiting(1, 10)};
  // Of 2 and 3 nobody knows: they may have given to 0 what they owe to 1 as well.
  EXPECT_EQ(RootOfWait(records, 0), 2);
  EXPECT_EQ(RootOfWait(records, 1), 2);
  const FlightRecord all[] = {past, Waiting(1, 10), Rank(2, past.operations), Rank(3, past.operations)};
  EXPECT_EQ(RootOfWait(all, 1), 1);
  EXPECT_THAT(FindCause(all).ranks, ElementsAre(1));
}

// Ranks that come to a collective when it has been given up were missing in it.
TEST(PostMortem, WhoCameTooLateDidNotCome) {
  FlightRecord failed = Waiting(0, 10), late = Waiting(1, 15);
  failed.operations.back().state = State::kFailed;
  failed.operations.back().end = kStart + 14 * kSecond;
  failed.groups[5] = late.groups[5] = {0, 1};
  late.operations.back().state = State::kFailed;
  late.operations.back().end = late.operations.back().begin;
  const FlightRecord records[] = {failed, late};
  EXPECT_THAT(FindCause(records).ranks, ElementsAre(1));
}

}  // namespace
}  // namespace partita
