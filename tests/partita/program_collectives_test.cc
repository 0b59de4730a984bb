// Sums, a barrier and a store of the program: what is asked of them, that results stay those of threads, and errors.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>

#include "runtime/comm/memory_store.h"
#include "tests/partita/transport_case.h"
#include "tests/testing/group_sums.h"

namespace partita::api {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// With the sums of a program, over `transport` or over connections of our own.
std::shared_ptr<Transport> WithSums(const std::shared_ptr<const Transport>& transport, GroupSums& sums) {
  auto with = std::make_shared<Transport>(*transport);
  with->all_reduce = [&sums, rank = transport->rank](const AllReduce& sum) {
    const auto type = sum.type == Type::kF32 ? SumType::kF32 : sum.type == Type::kF64 ? SumType::kF64 : SumType::kI32;
    return sums.Add(rank, sum.group, {sum.ranks, static_cast<size_t>(sum.rank_count)}, type, sum.count, sum.input,
                    sum.output);
  };
  with->close = [&sums, rank = transport->rank, close = transport->close](int other) {
    sums.Close(rank, other);
    if (close) close(other);
  };
  return with;
}

// Ranks that only find each other by the program.
std::shared_ptr<Transport> ByStore(MemoryStore& store, int rank, int ranks) {
  auto transport = std::make_shared<Transport>();
  transport->rank = rank;
  transport->ranks = ranks;
  transport->put = [&store](const std::string& key, const std::string& value) { return store.Set(key, value).ok(); };
  transport->get = [&store](const std::string& key, int64_t milliseconds) -> std::optional<std::string> {
    const auto found = store.Get(key, std::chrono::milliseconds(milliseconds));
    return found.ok() ? std::optional(*found) : std::nullopt;
  };
  return transport;
}

void ExpectAllAre(const std::vector<Trained>& ranks, const Trained& threads) {
  ASSERT_EQ(threads.error, "");
  for (const Trained& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.losses, threads.losses);
    EXPECT_EQ(rank.states, threads.states);
  }
}

TEST(ProgramCollectives, SumsInTheOrderOfRanksGiveTheBitsOfThreads) {
  const std::pair<const char*, std::vector<int>> cases[] = {{"dp = 4", {0, 1, 2, 3}},
                                                            {"dp = 2\nmp = 2", {0, 2}},
                                                            {"dp = 2\nmp = 2", {1, 3}},
                                                            {"dp = 4\nbucket-bytes = 0", {0, 1, 2, 3}}};
  for (const auto& [split, group] : cases) {
    SCOPED_TRACE(split);
    const std::string settings = std::string(split) + "\nthreads = 1";
    Post sent(4), post(4);
    OfAll(sent, 4, [&](int, const auto& transport) { return TrainedBy(transport, settings, 5); });
    GroupSums sums;
    const auto trained =
        OfAll(post, 4, [&](int, const auto& transport) { return TrainedBy(WithSums(transport, sums), settings, 5); });
    ExpectAllAre(trained, TrainedBy(nullptr, settings, 5));
    EXPECT_GE(sums.made(), 5);
    EXPECT_THAT(sums.groups(), Contains(group));
    EXPECT_LT(post.sent(), sent.sent()) << "the sums are not sent as well";
  }
}

TEST(ProgramCollectives, AFailedSumIsNamedOnAllRanks) {
  Post post(3);
  GroupSums sums;
  const auto trained = OfAll(post, 3, [&](int rank, const auto& transport) {
    const auto with = WithSums(transport, sums);
    with->all_reduce = [inner = with->all_reduce, rank, calls = std::make_shared<int>(0)](const AllReduce& sum) {
      return (rank != 1 || ++*calls <= 3) && inner(sum);
    };
    return TrainedBy(with, "dp = 3", 50, /*reads=*/false);
  });
  for (const Trained& rank : trained) {
    EXPECT_LT(rank.losses.size(), 50U);
    EXPECT_THAT(rank.error,
                AllOf(HasSubstr("rank 1: the program's all_reduce failed: group "), HasSubstr("f32 (sum)")));
  }
}

TEST(ProgramCollectives, ARankThatGoesEndsTheSumsOfTheOthers) {
  Post post(3);
  GroupSums sums;
  const auto trained = OfAll(post, 3, [&](int rank, const auto& transport) {
    return TrainedBy(WithSums(transport, sums), "dp = 3", rank == 2 ? 2 : 50, /*reads=*/false);
  });
  for (const size_t rank : {0, 1}) {
    EXPECT_LT(trained[rank].losses.size(), 50U);
    EXPECT_THAT(trained[rank].error, HasSubstr("rank 2"));
  }
}

TEST(ProgramCollectives, ABarrierIsPassedBeforeAnythingIsSent) {
  Post post(2);
  std::atomic<int> arrived = 0;
  const auto trained = OfAll(post, 2, [&](int, const auto& transport) {
    auto with = std::make_shared<Transport>(*transport);
    with->barrier = [&] {
      EXPECT_EQ(post.sent(), 0);
      for (++arrived; arrived < 2;) std::this_thread::yield();
      return true;
    };
    with->send = [&, send = transport->send](int to, const void* data, size_t bytes) {
      EXPECT_EQ(arrived, 2);
      return send(to, data, bytes);
    };
    return TrainedBy(with, "dp = 2", 3);
  });
  ExpectAllAre(trained, TrainedBy(nullptr, "dp = 2", 3));
  EXPECT_EQ(arrived, 2);
  Post lonely(2);
  auto alone = std::make_shared<Transport>(*lonely.Of(0));
  alone->barrier = [] { return false; };
  EXPECT_THAT(TrainedBy(alone, "dp = 2", 1).error, HasSubstr("the program's barrier failed"));
}

TEST(ProgramCollectives, RanksFindEachOtherByTheStore) {
  for (const bool sums_are_given : {false, true}) {
    for (const char* settings : {"dp = 2\nmp = 2", "dp = 4\ntls = true"}) {
      SCOPED_TRACE(settings);
      Post unused(4);
      MemoryStore store;
      GroupSums sums;
      const auto trained = OfAll(unused, 4, [&](int rank, const auto&) {
        const auto transport = ByStore(store, rank, 4);
        return TrainedBy(sums_are_given ? WithSums(transport, sums) : transport, settings, 4);
      });
      ExpectAllAre(trained, TrainedBy(nullptr, settings, 4));
      EXPECT_EQ(sums.made() > 0, sums_are_given);
    }
  }
}

TEST(ProgramCollectives, AStoreThatFailsIsSaid) {
  MemoryStore store;
  const std::string soon = "dp = 2\njoin-timeout = 1";
  EXPECT_THAT(TrainedBy(ByStore(store, 1, 2), soon, 1).error,
              AllOf(HasSubstr("rank 0 does not come"), HasSubstr("the program's get of partita/job/token failed")));
  EXPECT_THAT(TrainedBy(ByStore(store, 0, 2), soon, 1).error, HasSubstr("rank 1 does not come"));
  const auto full = ByStore(store, 0, 2);
  full->put = [](const auto&, const auto&) { return false; };
  EXPECT_THAT(TrainedBy(full, soon, 1).error, HasSubstr("the program's put of partita/job/token failed"));
  const auto elsewhere = ByStore(store, 0, 2);
  elsewhere->address = "203.0.113.1";  // of the documentation's network: RFC 5737
  EXPECT_THAT(TrainedBy(elsewhere, soon, 1).error, HasSubstr("cannot listen on 203.0.113.1"));
}

TEST(ProgramCollectives, WhatLacksIsSaid) {
  MemoryStore store;
  GroupSums sums;
  const auto with = [&](const auto& change) {
    const auto transport = ByStore(store, 0, 2);
    change(*transport);
    return TrainedBy(transport, "dp = 2", 1).error;
  };
  const auto lacks = HasSubstr("expected send, receive and close, or put and get");
  EXPECT_THAT(with([](Transport& one) { one.get = nullptr; }), lacks);
  EXPECT_THAT(with([](Transport& one) { one.put = nullptr; }), lacks);
  EXPECT_THAT(with([](Transport& one) { one.put = nullptr, one.get = nullptr; }), lacks);
  EXPECT_THAT(with([](Transport& one) { one.send = [](int, const void*, size_t) { return true; }; }), lacks);
  EXPECT_THAT(with([](Transport& one) { one.all_reduce = [](const AllReduce&) { return true; }; }),
              HasSubstr("close ends what waits in all_reduce"));
}

}  // namespace
}  // namespace partita::api
