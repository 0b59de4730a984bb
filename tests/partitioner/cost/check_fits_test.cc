#include "partitioner/cost/check_fits.h"

#include <gmock/gmock.h>

#include "partitioner/cluster/cluster_description.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

// Two devices of 1,000 bytes.
Cluster Toy(bool cores_shared) {
  DeviceKind kind{"d", BackendKind::kHost, 1000, 2e9, {{DType::kF32, 1e9}}};
  kind.cores_shared = cores_shared;
  const auto cluster = MakeCluster({"toy", {kind}, {{"node", "", 1, "d", 2, Link{Fabric::kMemory, 4e9, 1e-6, 1}, {}}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

TEST(CheckFits, WhatDoesNotFitIsRefused) {
  std::vector<Schedule> schedules(2);
  for (int r = 0; r < 2; ++r) {
    schedules[r].rank = r;
    schedules[r].memory.total = 600;
  }
  EXPECT_TRUE(CheckFits(schedules, Toy(false)).ok());
  const absl::Status status = CheckFits(schedules, Toy(true));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("needs 1200 bytes, and a 'd' has 1000"));
  const std::vector<const Schedule*> folded = {&schedules[0], &schedules[0]};
  EXPECT_EQ(CheckFits(folded, Toy(true)), status);
}

}  // namespace
}  // namespace partita
