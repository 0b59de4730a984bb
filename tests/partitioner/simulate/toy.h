// Small programs and clusters whose times can be computed by hand.
#ifndef PARTITA_TESTS_PARTITIONER_SIMULATE_TOY_H_
#define PARTITA_TESTS_PARTITIONER_SIMULATE_TOY_H_

#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

// Nodes of two devices; each device clears 2,000 bytes in 1 us; 1 us and 4 GB/s within a node, 10 us and 1 GB/s, which
// the node has in all, to others. Launching costs nothing.
Cluster ToyCluster(int nodes, bool cores_shared = false);

// data:2 model:2. Groups 0 and 1, {0,2} and {1,3}, along data; 2 and 3, {0,1} and {2,3}, along model.
Program ToyProgram();

// A kernel's work as a copy: `microseconds` if no other rank shares the cores.
Launch Work(double microseconds, int stream = 0, std::vector<int> waits = {});
// Of f32 elements, on stream 1.
Launch AllReduce(int group, int64_t elements, std::vector<int> waits = {});

// Of ranks 0, 1, ... of the four; two streams.
std::vector<Schedule> Schedules(std::vector<std::vector<Launch>> launches);

std::vector<const Schedule*> Pointers(const std::vector<Schedule>& schedules);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_SIMULATE_TOY_H_
