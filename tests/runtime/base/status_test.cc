#include "runtime/base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace partita {
namespace {

TEST(Status, EachHelperGivesItsCodeAndFormatsItsMessage) {
  const auto expect = [](const absl::Status& status, absl::StatusCode code, const std::string& message) {
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(std::string(status.message()), message);
  };
  expect(InvalidArgument("node '{}': {} inputs", "a", 3), absl::StatusCode::kInvalidArgument, "node 'a': 3 inputs");
  expect(ResourceExhausted("{} bytes", 7), absl::StatusCode::kResourceExhausted, "7 bytes");
  expect(OutOfRange("step {}", 2), absl::StatusCode::kOutOfRange, "step 2");
  expect(Unavailable("rank {}", 1), absl::StatusCode::kUnavailable, "rank 1");
  expect(Internal("{}", "bug"), absl::StatusCode::kInternal, "bug");
}

TEST(Status, BracesInAnArgumentStayAsTheyAre) {
  EXPECT_EQ(std::string(InvalidArgument("name '{}'", "{}{0}").message()), "name '{}{0}'");
}

TEST(WithContext, KeepsTheCodeAndPutsTheContextFirst) {
  const absl::Status status = WithContext("graph.pbtxt", Unavailable("gone"));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()), "graph.pbtxt: gone");
}

TEST(WithContext, LeavesOkAlone) { EXPECT_TRUE(WithContext("graph.pbtxt", absl::OkStatus()).ok()); }

absl::Status FailOrCount(const absl::Status& status, int* calls) {
  RETURN_IF_ERROR((++*calls, status));
  *calls += 10;
  return absl::OkStatus();
}

TEST(ReturnIfError, EvaluatesOnceAndGoesOnWhenOk) {
  int calls = 0;
  EXPECT_TRUE(FailOrCount(absl::OkStatus(), &calls).ok());
  EXPECT_EQ(calls, 11);
}

TEST(ReturnIfError, EvaluatesOnceAndLeavesWithTheError) {
  int calls = 0;
  EXPECT_EQ(FailOrCount(Internal("x"), &calls), Internal("x"));
  EXPECT_EQ(calls, 1);
}

// No braces after `if`: the macro is one statement and takes no foreign `else`.
absl::Status OneStatement(bool check, bool* other) {
  if (check)
    RETURN_IF_ERROR(Internal("checked"));
  else
    *other = true;
  return absl::OkStatus();
}

TEST(ReturnIfError, IsOneStatement) {
  bool other = false;
  EXPECT_FALSE(OneStatement(true, &other).ok());
  EXPECT_FALSE(other);
  EXPECT_TRUE(OneStatement(false, &other).ok());
  EXPECT_TRUE(other);
}

absl::StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("{} is odd", value);
  return std::make_unique<int>(value / 2);
}

absl::StatusOr<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(value));
  std::unique_ptr<int> quarter;
  ASSIGN_OR_RETURN(quarter, Half(*half));
  return *quarter;
}

TEST(AssignOrReturn, DeclaresAssignsAndMovesOutOfTheResult) {
  const absl::StatusOr<int> quarter = Quarter(12);
  ASSERT_TRUE(quarter.ok());
  EXPECT_EQ(*quarter, 3);
}

TEST(AssignOrReturn, LeavesWithTheErrorOfTheFirstFailure) {
  EXPECT_EQ(Quarter(7).status(), InvalidArgument("7 is odd"));
  EXPECT_EQ(Quarter(6).status(), InvalidArgument("3 is odd"));
}

TEST(Check, PassesWhatHoldsAndEvaluatesOnce) {
  int calls = 0;
  CHECK(++calls == 1);
  EXPECT_EQ(calls, 1);
}

TEST(CheckDeathTest, AbortsWithPlaceAndCondition) {
  const int ranks = 2;
  EXPECT_DEATH(CHECK(ranks == 3), "status_test.cc:[0-9]+: CHECK failed: ranks == 3");
}

}  // namespace
}  // namespace partita
