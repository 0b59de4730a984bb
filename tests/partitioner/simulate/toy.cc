#include "tests/partitioner/simulate/toy.h"

#include <gtest/gtest.h>

#include "partitioner/cluster/cluster_description.h"

namespace partita {

Cluster ToyCluster(int nodes, bool cores_shared) {
  DeviceKind kind{"d", BackendKind::kHost, 1000, 2e9, {{DType::kF32, 1e9}}};
  kind.cores_shared = cores_shared;
  const Link inside{Fabric::kMemory, 4e9, 1e-6, 1}, outside{Fabric::kNetwork, 1e9, 10e-6, 1};
  const Link up{Fabric::kNetwork, 1e9, 0, 1};
  const auto cluster =
      MakeCluster({"toy", {kind}, {{"rack", "", 1, "", 0, outside, {}}, {"node", "rack", nodes, "d", 2, inside, up}}});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *cluster;
}

Program ToyProgram() {
  Program program;
  program.meshes[0].axes = {{"data", 2}, {"model", 2}};
  program.groups = {{{0, 0, {0}}, {0, 2}}, {{0, 0, {0}}, {1, 3}}, {{0, 0, {1}}, {0, 1}}, {{0, 0, {1}}, {2, 3}}};
  return program;
}

Launch Work(double microseconds, int stream, std::vector<int> waits) {
  Launch launch;
  launch.name = "work";
  launch.stream = stream;
  launch.waits = std::move(waits);
  CopyLaunch copies;
  copies.zero.bytes = static_cast<int64_t>(2000 * microseconds);
  launch.work = std::move(copies);
  return launch;
}

Launch AllReduce(int group, int64_t elements, std::vector<int> waits) {
  Launch launch;
  launch.name = "all_reduce";
  launch.stream = 1;
  launch.waits = std::move(waits);
  CollectiveLaunch call;
  call.group = group;
  call.input_count = call.output_count = elements;
  launch.work = std::move(call);
  return launch;
}

std::vector<Schedule> Schedules(std::vector<std::vector<Launch>> launches) {
  launches.resize(4);
  std::vector<Schedule> schedules;
  for (std::vector<Launch>& own : launches) {
    Schedule& schedule = schedules.emplace_back();
    schedule.rank = static_cast<int>(schedules.size()) - 1;
    schedule.streams = 2;
    schedule.launches = std::move(own);
  }
  return schedules;
}

std::vector<const Schedule*> Pointers(const std::vector<Schedule>& schedules) {
  std::vector<const Schedule*> pointers;
  for (const Schedule& schedule : schedules) pointers.push_back(&schedule);
  return pointers;
}

}  // namespace partita
