// Ranks that reach each other by functions of the program train to the bits of threads, and hear of a rank that is
// gone.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/partita/transport_case.h"

namespace partita::api {
namespace {

using ::testing::HasSubstr;

TEST(Transport, TrainsToTheBitsOfThreads) {
  for (const std::string settings : {"dp = 4", "dp = 2\nmp = 2", "mp = 3", "dp = 3\nmicro-batches = 2"}) {
    SCOPED_TRACE(settings);
    const int ranks = settings.starts_with("dp = 2") || settings == "dp = 4" ? 4 : 3;
    const Trained threads = TrainedBy(nullptr, settings + "\nthreads = 1", 5);
    ASSERT_EQ(threads.error, "");
    Post post(ranks);
    for (const Trained& rank : OfAll(post, ranks, [&](int, const auto& transport) {
           return TrainedBy(transport, settings + "\nthreads = 1", 5);
         })) {
      EXPECT_EQ(rank.error, "");
      EXPECT_EQ(rank.losses, threads.losses);
      EXPECT_EQ(rank.states, threads.states);
    }
    EXPECT_GT(post.sent(), 1000);
  }
}

TEST(Transport, RanksThatDoNotAgreeAreRefused) {
  Post post(2);
  for (const Trained& rank : OfAll(post, 2, [&](int number, const auto&transport) {
         return TrainedBy(transport, "dp = 2\nseed = " + std::to_string(number), 1);
       })) {
    EXPECT_THAT(rank.error, HasSubstr("ranks do not agree on"));
    EXPECT_THAT(rank.error, HasSubstr("rank 0 has '0', rank 1 has '1'"));
  }
}

TEST(Transport, ARankThatGoesIsNamed) {
  Post post(3);
  const std::vector<Trained> trained = OfAll(post, 3, [&](int rank, const auto& transport) {
    return TrainedBy(transport, "dp = 3", rank == 2 ? 2 : 50, /*reads=*/false);
  });
  EXPECT_EQ(trained[2].losses.size(), 2U);
  for (size_t rank : {0, 1}) {
    EXPECT_GE(trained[rank].losses.size(), 2U);
    EXPECT_LT(trained[rank].losses.size(), 50U);
    EXPECT_THAT(trained[rank].error, HasSubstr("rank 2"));
  }
}

TEST(Transport, WhatIsWrongIsSaid) {
  Post post(2);
  EXPECT_THAT(TrainedBy(post.Of(0), "dp = 3", 1).error, HasSubstr("the job has 2 processes by the program's channel"));
  EXPECT_THAT(TrainedBy(post.Of(2), "dp = 2", 1).error, HasSubstr("the transport is of rank 2 of 2"));
  auto lacking = std::make_shared<Transport>(*post.Of(0));
  lacking->close = nullptr;
  EXPECT_THAT(TrainedBy(lacking, "dp = 2", 1).error, HasSubstr("the transport lacks a function"));
  auto silent = std::make_shared<Transport>(*post.Of(0));
  silent->receive = [](int, void*, size_t) { return false; };
  EXPECT_THAT(TrainedBy(silent, "dp = 2", 1).error, HasSubstr("rank 1 does not come"));
  auto strange = std::make_shared<Transport>(*post.Of(0));
  strange->receive = [](int, void* data, size_t bytes) { return std::memset(data, 0, bytes) != nullptr; };
  EXPECT_THAT(TrainedBy(strange, "dp = 2", 1).error, HasSubstr("other bytes than were sent"));
}

}  // namespace
}  // namespace partita::api
