// What a profile says of a run, its file, and what wrong ones are told.
#include "partitioner/profile/profile.h"

#include <gmock/gmock.h>

#include "partitioner/profile/quartiles.h"
#include "partitioner/profile/stretch.h"
#include "partitioner/proto_io/profile_io.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kProfile[] = R"profile(schema_version: 1
device: "cpu (2 cores)"
libraries { name: "onednn" version: "3.5" }
libraries { name: "partita" version: "0.1" }
time: "2026-11-22T20:15:04Z"
cluster {
  name: "here"
  devices {
    name: "cores" backend: "host" memory_bytes: 1000 bytes_per_second: 1e9 cores_shared: true
    wake_seconds: 2e-5 op_times { op: "relu" times: 1.5 }
    rates { dtype: "f32" flops_per_second: 1e9 }
  }
  domains { name: "host" device: "cores" devices: 4 within { fabric: "memory" bytes_per_second: 1 latency_seconds: 1 } }
}
kernels { signature: "a" ranks: 1 seconds: 2 spread: 0.01 }
kernels { signature: "a" ranks: 4 seconds: 5 }
kernels { signature: "b" ranks: 1 seconds: 3 }
collectives { collective: "all_reduce" ranks: 2 alpha_seconds: 8 beta_seconds: 0.5 r_squared: 0.9 }
collectives { collective: "all_reduce" ranks: 2 processes: true alpha_seconds: 60 beta_seconds: 2 r_squared: 1 }
shared_cores { ranks: 1 slowdown: 1 }
shared_cores { ranks: 2 slowdown: 1.5 }
shared_cores { ranks: 4 slowdown: 4 }
)profile";

absl::StatusOr<Profile> Parse(const std::string& text) { return ParseProfile(text, ProtoFormat::kText, "p.pbtxt"); }

Profile Toy() {
  absl::StatusOr<Profile> profile = Parse(kProfile);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return *std::move(profile);
}

std::string Refusal(const std::string& from, const std::string& to) {
  std::string text = kProfile;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const absl::Status status = Parse(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << to;
  EXPECT_THAT(std::string(status.message()), StartsWith("p.pbtxt: "));
  return std::string(status.message());
}

// Predicted to take 10, of which 8 are computed.
TEST(Stretch, IsWhatAStepTakesMore) {
  EXPECT_EQ(StretchOf(10, 10, 8), 1);
  EXPECT_EQ(StretchOf(18, 10, 8), 2) << "two ranks on a core, each kernel of which is as quick as ever";
  EXPECT_EQ(StretchOf(9, 10, 8), 1) << "no kernel is quicker than it was";
}

TEST(Profile, KernelsAreThoseMeasuredBesideAsManyRanks) {
  EXPECT_EQ(KernelTimesFor(Toy(), 1), (KernelTimes{{"a", 2}, {"b", 3}}));
  EXPECT_EQ(KernelTimesFor(Toy(), 2), (KernelTimes{{"a", 2 * 1.5}, {"b", 3 * 1.5}}));
  EXPECT_EQ(KernelTimesFor(Toy(), 4), (KernelTimes{{"a", 5}, {"b", 12}}));
  EXPECT_EQ(KernelTimesFor(Toy(), 3).at("b"), 3 * (1.5 + 4) / 2) << "in line";
  EXPECT_EQ(KernelTimesFor(Toy(), 8), (KernelTimes{{"a", 10}, {"b", 24}})) << "in proportion";
}

// An all_reduce of a pair is two messages.
TEST(Profile, LinksAreThoseMeasured) {
  const Link threads = LinkBetween(*ClusterOf(Toy(), false), 0, 1),
             processes = LinkBetween(*ClusterOf(Toy(), true), 0, 3);
  EXPECT_EQ(threads.latency_seconds, 1) << "the machine's own";
  EXPECT_EQ(threads.bytes_per_second, 1);
  EXPECT_EQ(processes.latency_seconds, 30);
  EXPECT_EQ(processes.bytes_per_second, 0.5);
  Profile none = Toy();
  none.collectives.clear();
  EXPECT_EQ(LinkBetween(*ClusterOf(none, true), 0, 1).latency_seconds, 1) << "the machine's own";
}

// Of one rank alone nothing is known of others.
TEST(Profile, RanksThatShareCoresLoseWhatWasMeasured) {
  EXPECT_EQ(ClusterOf(Toy(), false)->kinds[0].slowdown, (Slowdown{{1, 1}, {2, 1.5}, {4, 4}}));
  Profile alone = Toy();
  alone.slowdown = {{1, 1}};
  EXPECT_EQ(ClusterOf(alone, false)->kinds[0].slowdown, Slowdown());
  alone = Toy();
  alone.machine.kinds[0].cores_shared = false;
  EXPECT_EQ(ClusterOf(alone, false)->kinds[0].slowdown, Slowdown());
}

TEST(MiddleMean, IsOfTheMiddleHalf) {
  EXPECT_EQ(MiddleMean({7}), 7);
  EXPECT_EQ(MiddleMean({100, 2, 4, 0}), 3);
  EXPECT_EQ(MiddleMean({1, 1, 1, 1, 9, 9, 9, 9}), 5) << "as many of each kind";
}

TEST(Profile, IsOfOneDeviceAndItsVersions) {
  const ProfileKey key = Toy().key;
  EXPECT_TRUE(CheckKey(key, key).ok());
  EXPECT_THAT(std::string(CheckKey(key, {"cpu (4 cores)", key.libraries}).message()),
              HasSubstr("field device is 'cpu (2 cores)', here is 'cpu (4 cores)'"));
  EXPECT_THAT(std::string(CheckKey(key, {key.device, {{"onednn", "3.6"}}}).message()),
              HasSubstr("field libraries: onednn is '3.5', here is '3.6'"));
  EXPECT_THAT(std::string(CheckKey(key, {key.device, {{"new", "1"}}}).message()), HasSubstr("new is '', here is '1'"));
}

TEST(ProfileFile, IsReadAsItWasWritten) {
  const Profile profile = Toy();
  for (const ProtoFormat format : {ProtoFormat::kText, ProtoFormat::kBinary}) {
    const std::string printed = PrintProfile(profile, format);
    const absl::StatusOr<Profile> read = ParseProfile(printed, format, "p");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(PrintProfile(*read, format), printed);
    EXPECT_EQ(read->key.device, profile.key.device);
    EXPECT_EQ(read->key.libraries, profile.key.libraries);
    EXPECT_EQ(KernelTimesFor(*read, 3), KernelTimesFor(profile, 3));
    EXPECT_EQ(read->collectives[0].fit.r_squared, 0.9);
    EXPECT_EQ(read->machine.kinds[0].wake_seconds, 2e-5);
    EXPECT_EQ(read->machine.kinds[0].op_times, (std::map<std::string, double>{{"relu", 1.5}}));
    EXPECT_EQ(LinkBetween(*ClusterOf(*read, true), 0, 1).latency_seconds, 30);
  }
}

TEST(ProfileFile, NumbersThatCannotBeAreRefused) {
  EXPECT_THAT(Refusal("seconds: 2 spread", "seconds: -2 spread"),
              HasSubstr("kernel 'a': field seconds is -2; a number greater than 0 is needed"));
  EXPECT_THAT(Refusal("seconds: 3", "seconds: nan"), HasSubstr("kernel 'b': field seconds is nan"));
  EXPECT_THAT(Refusal("spread: 0.01", "spread: -1"), HasSubstr("field spread is -1; 0 or more is allowed"));
  EXPECT_THAT(Refusal("ranks: 4 seconds", "ranks: 0 seconds"), HasSubstr("kernel 'a': field ranks is 0"));
  EXPECT_THAT(Refusal("alpha_seconds: 60", "alpha_seconds: -60"),
              HasSubstr("collective all_reduce of 2 processes: field alpha_seconds is -60"));
  EXPECT_THAT(Refusal("beta_seconds: 0.5", "beta_seconds: inf"), HasSubstr("2 threads: field beta_seconds is inf"));
  EXPECT_THAT(Refusal("r_squared: 0.9", "r_squared: 1.1"), HasSubstr("at most 1 is allowed"));
  EXPECT_THAT(Refusal("slowdown: 1.5", "slowdown: 0"), HasSubstr("shared_cores of 2 ranks: field slowdown is 0"));
  EXPECT_THAT(Refusal("slowdown: 1 }", "slowdown: 2 }"), HasSubstr("that of 1 rank is 2; a slowdown of 1 is needed"));
  EXPECT_THAT(Refusal("bytes_per_second: 1e9", "bytes_per_second: -1"), HasSubstr("cluster: device 'cores'"));
}

TEST(ProfileFile, WhatIsThereTwiceOrUnknownIsRefused) {
  EXPECT_THAT(Refusal("ranks: 4 seconds", "ranks: 1 seconds"), HasSubstr("beside 1 rank it is there twice"));
  EXPECT_THAT(Refusal("processes: true", ""), HasSubstr("of 2 threads: it is there twice"));
  EXPECT_THAT(Refusal("\"all_reduce\"", "\"all_reduc\""), HasSubstr("did you mean 'all_reduce'?"));
  EXPECT_THAT(Refusal("device: \"cpu (2 cores)\"", ""), HasSubstr("field device is empty"));
  EXPECT_THAT(Refusal("name: \"partita\"", "name: \"onednn\""), HasSubstr("has 'onednn' twice"));
}

}  // namespace
}  // namespace partita
