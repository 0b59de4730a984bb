// How fast the machines are that a program and its schedules are made for, as far as choices of the compiler ask:
// buckets, exchanges, what is computed while ghosts travel, streams.
//
// All that is said here by default is of one machine: ranks that are threads of a host with a few cores. Others are
// said by a cluster (partitioner/cost/cluster_speed.h).
#ifndef PARTITA_GRAPH_SCHEDULE_MACHINE_SPEED_H_
#define PARTITA_GRAPH_SCHEDULE_MACHINE_SPEED_H_

namespace partita {

// About one core, where a wait costs nothing beside the launches, so that all that can run side by side does. Launches
// are compared with each other, so relative numbers suffice.
struct DeviceSpeed {
  double flops_per_second = 5e10;       // of a node over f32
  double bf16_flops_per_second = 5e10;  // of a node that has an input in bf16
  double bytes_per_second = 1e10;       // of the device's memory, read and written
  double launch_seconds = 1e-6;         // that every launch takes, however small it is
  double wait_seconds = 0;              // by which a launch is late where it waits for another stream
};

// Two wake-ups of a waiting thread, and a copy at memory speed.
struct LinkSpeed {
  double latency_seconds = 20e-6;
  double bytes_per_second = 5e9;
};

struct MachineSpeed {
  DeviceSpeed device = {};
  LinkSpeed message = {};     // from one rank to another
  LinkSpeed collective = {};  // of all ranks: its latency, and the bytes of the whole value in a second
  // Work that is at least so much hides what comes in meanwhile: 80 us of a core, in which an exchange has begun, which
  // takes four messages.
  double hiding_flops = 4e6;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_MACHINE_SPEED_H_
