// Routes and groups in a cluster, its file, and what wrong ones are told.
#include "partitioner/cluster/cluster.h"

#include <gmock/gmock.h>

#include "partitioner/proto_io/cluster_io.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two nodes of two sockets of two devices.
constexpr char kCluster[] = R"(schema_version: 1
name: "toy"
devices {
  name: "gpu" backend: "cuda" memory_bytes: 1000 bytes_per_second: 1e9 compute_capability: 80
  rates { dtype: "f32" flops_per_second: 1e12 }
  rates { dtype: "bf16" flops_per_second: 4e12 }
}
domains { name: "rack" within { fabric: "network" bytes_per_second: 8 latency_seconds: 5 } }
domains {
  name: "node" in: "rack" count: 2
  within { fabric: "pci" bytes_per_second: 16 latency_seconds: 1 }
  up { fabric: "network" bytes_per_second: 12 latency_seconds: 2 }
}
domains {
  name: "socket" in: "node" count: 2 device: "gpu" devices: 2
  within { fabric: "nvlink" bytes_per_second: 64 latency_seconds: 0.5 channels: 4 }
  up { fabric: "pci" bytes_per_second: 32 latency_seconds: 0.25 }
}
)";

absl::StatusOr<Cluster> Parse(const std::string& text) { return ParseCluster(text, ProtoFormat::kText, "c.pbtxt"); }

Cluster Toy() {
  absl::StatusOr<Cluster> cluster = Parse(kCluster);
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *std::move(cluster);
}

// With `from`, which must be there, replaced.
std::string Refusal(const std::string& from, const std::string& to) {
  std::string text = kCluster;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const absl::Status status = Parse(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << to;
  EXPECT_THAT(std::string(status.message()), StartsWith("c.pbtxt: "));
  return std::string(status.message());
}

TEST(Cluster, HasEveryDomainAndDeviceThatIsMeant) {
  const Cluster cluster = Toy();
  ASSERT_EQ(cluster.devices.size(), 8u);
  std::vector<std::string> names;
  for (int domain : DomainsOf(cluster, 5)) names.push_back(cluster.domains[domain].name);
  EXPECT_THAT(names, ElementsAre("rack", "node[1]", "socket[0]"));
  EXPECT_EQ(cluster.KindOf(7).flops_per_second.at(DType::kBF16), 4e12);
}

TEST(Cluster, AMessagePassesTheLinksBetween) {
  const Cluster cluster = Toy();
  const Link near = LinkBetween(cluster, 0, 1), node = LinkBetween(cluster, 0, 2), far = LinkBetween(cluster, 1, 6);
  EXPECT_DOUBLE_EQ(near.latency_seconds, 0.5);
  EXPECT_EQ(near.bytes_per_second, 64);
  EXPECT_DOUBLE_EQ(node.latency_seconds, 0.25 + 1 + 0.25);
  EXPECT_EQ(node.bytes_per_second, 16);
  EXPECT_DOUBLE_EQ(far.latency_seconds, 2.25 + 5 + 2.25);
  EXPECT_EQ(far.bytes_per_second, 8);
  EXPECT_EQ(far.fabric, Fabric::kNetwork);
  EXPECT_EQ(LinkBetween(cluster, 3, 3).latency_seconds, 0);
}

TEST(Cluster, MoreRanksThanDevicesAreRefused) {
  EXPECT_TRUE(CheckRanks(Toy(), 8).ok());
  EXPECT_THAT(std::string(CheckRanks(Toy(), 9).message()), HasSubstr("'toy' has 8 devices and the strategy 9 ranks"));
}

TEST(Cluster, RanksThatShareCoresAreCounted) {
  Cluster cluster = Toy();
  EXPECT_EQ(RanksSharingCores(cluster, 1, 8), 1);
  cluster.kinds[0].cores_shared = true;
  EXPECT_EQ(RanksSharingCores(cluster, 1, 8), 2);
  EXPECT_EQ(RanksSharingCores(cluster, 0, 1), 1);
}

// A rank on one of two cores loses nothing to a second one, and half of its time where four compute.
TEST(Cluster, RanksLoseWhatExceedsTheCores) {
  const std::string from = "memory_bytes: 1000";
  std::string text = kCluster;
  text.replace(text.find(from), from.size(), from + " cores_shared: true cores: 2");
  const Slowdown slowdown = Parse(text)->KindOf(0).slowdown;
  EXPECT_EQ(SlowdownOf(slowdown, 1), 1);
  EXPECT_EQ(SlowdownOf(slowdown, 2), 1);
  EXPECT_EQ(SlowdownOf(slowdown, 3), 1.5);
  EXPECT_EQ(SlowdownOf(slowdown, 4), 2);
}

TEST(ClusterFile, LinksToNowhereAreRefused) {
  EXPECT_THAT(Refusal("in: \"node\"", "in: \"nodes\""), HasSubstr("'nodes', which there is not; did you mean 'node'?"));
  EXPECT_THAT(Refusal("device: \"gpu\"", "device: \"gpus\""), HasSubstr("did you mean 'gpu'?"));
  EXPECT_THAT(Refusal("name: \"rack\"", "name: \"rack\" up { fabric: \"pci\" bytes_per_second: 1 }"),
              HasSubstr("domain 'rack': its link up leads nowhere"));
  EXPECT_THAT(Refusal("name: \"rack\"", "name: \"rack\" in: \"socket\""), HasSubstr("field up is missing"));
  EXPECT_THAT(Refusal("name: \"rack\"", "name: \"rack\" count: 2"),
              HasSubstr("domain 'rack': count is 2, and it lies in no other; of the outermost domain there is one"));
  EXPECT_THAT(Refusal("in: \"node\"", "in: \"socket\""), HasSubstr("and so in itself"));
  EXPECT_THAT(Refusal("in: \"rack\" count: 2", ""), HasSubstr("its link up leads nowhere"));
}

TEST(ClusterFile, RatesAndLinksThatAreNotPositiveAreRefused) {
  EXPECT_THAT(Refusal("flops_per_second: 1e12", "flops_per_second: 0"),
              HasSubstr("device 'gpu': rate of f32: field flops_per_second is 0; a number greater than 0 is needed"));
  EXPECT_THAT(Refusal("flops_per_second: 4e12", "flops_per_second: nan"), HasSubstr("rate of bf16"));
  EXPECT_THAT(Refusal("memory_bytes: 1000", ""), HasSubstr("memory_bytes is 0"));
  EXPECT_THAT(Refusal("bytes_per_second: 16", "bytes_per_second: -1"), HasSubstr("domain 'node': within: field"));
  EXPECT_THAT(Refusal("latency_seconds: 0.5", "latency_seconds: -1"), HasSubstr("0 or more is allowed"));
  EXPECT_THAT(Refusal("channels: 4", "channels: -4"), HasSubstr("channels is -4"));
  EXPECT_THAT(Refusal("memory_bytes: 1000", "memory_bytes: 1000 wake_seconds: -1"),
              HasSubstr("device 'gpu': field wake_seconds is -1; 0 or more is allowed"));
  EXPECT_THAT(Refusal("memory_bytes: 1000", "memory_bytes: 1000 op_times { op: \"relu\" }"),
              HasSubstr("device 'gpu': op_times of 'relu': field times is 0; a number greater than 0 is needed"));
  EXPECT_THAT(Refusal("memory_bytes: 1000",
                      "memory_bytes: 1000 op_times { op: \"relu\" times: 2 } "
                      "op_times { op: \"relu\" times: 3 }"),
              HasSubstr("device 'gpu': it has two op_times of 'relu'; one is allowed"));
}

TEST(ClusterFile, UnknownWordsGetTheNearest) {
  EXPECT_THAT(Refusal("\"nvlink\"", "\"nvlnk\""), HasSubstr("did you mean 'nvlink'?"));
  EXPECT_THAT(Refusal("dtype: \"bf16\"", "dtype: \"bf61\""), HasSubstr("did you mean 'bf16'?"));
  EXPECT_THAT(Refusal("backend: \"cuda\"", "backend: \"gpu\""), HasSubstr("known are: host, cuda"));
  EXPECT_THAT(Refusal("dtype: \"f32\"", "dtype: \"f64\""), HasSubstr("lack f32"));
}

TEST(ClusterFile, NumbersThatAreTooLargeOrDoNotFitAreRefused) {
  EXPECT_THAT(Refusal("count: 2", "count: 16385"), HasSubstr("more than 16384 devices"));
  EXPECT_THAT(Refusal("devices: 2", "devices: 2000000000"), HasSubstr("more than 16384 devices"));
  EXPECT_THAT(Refusal("device: \"gpu\" devices: 2", ""), HasSubstr("no domain has devices"));
  EXPECT_THAT(Refusal("device: \"gpu\"", ""), HasSubstr("both or neither"));
  EXPECT_THAT(Refusal("compute_capability: 80", ""), HasSubstr("of a GPU 70 or more is needed"));
  EXPECT_THAT(Refusal("backend: \"cuda\" memory_bytes: 1000 bytes_per_second: 1e9 compute_capability: 80",
                      "backend: \"host\" memory_bytes: 1000 bytes_per_second: 1e9 model: \"NVIDIA H200\""),
              HasSubstr("field model is 'NVIDIA H200'; of the host it is unset"));
  EXPECT_THAT(Refusal("memory_bytes: 1000", "memory_bytes: 1000 cores: 2"), HasSubstr("for devices with cores_shared"));
  EXPECT_THAT(Refusal("memory_bytes: 1000", "memory_bytes: 1000 cores: -2"), HasSubstr("1 or more are allowed"));
  EXPECT_THAT(Refusal("name: \"socket\"", "name: \"node\""), HasSubstr("two have this name"));
}

TEST(ShippedClusters, AreRead) {
  const std::vector<std::pair<std::string, size_t>> shipped = {
      {"two_cores", 64}, {"dgx1_v100", 8}, {"dgx_a100", 8},     {"hgx_h100", 8},
      {"hgx_h200", 8},   {"dgx_b200", 8},  {"gb200_nvl72", 72}, {"nodes_100gbe", 16}};
  for (const auto& [name, devices] : shipped) {
    const absl::StatusOr<Cluster> cluster = LoadCluster("partitioner/clusters/" + name + ".pbtxt");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ(cluster->devices.size(), devices) << name;
    EXPECT_EQ(RanksByDefault(*cluster), name == "two_cores" ? 2 : static_cast<int>(devices)) << name;
  }
}

}  // namespace
}  // namespace partita
