// The speeds of the target machine, as far as the compiler's choices need them: buckets, exchanges, overlap of halos,
// streams. A cluster provides them (partitioner/cost/cluster_speed.h); there are no defaults here.
#ifndef PARTITA_GRAPH_SCHEDULE_MACHINE_SPEED_H_
#define PARTITA_GRAPH_SCHEDULE_MACHINE_SPEED_H_

namespace partita {

// Of the device that one rank has. Launches are compared with each other, so relative numbers suffice.
struct DeviceSpeed {
  double flops_per_second = 0;       // of a node over f32
  double bf16_flops_per_second = 0;  // of a node that has an input in bf16
  double bytes_per_second = 0;       // of the device's memory, read and written
  double launch_seconds = 0;         // that every launch takes, however small it is
  double wait_seconds = 0;           // by which a launch is late where it waits for another stream
};

struct LinkSpeed {
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

// Speeds of flops and of bytes are greater than 0, but of the links of one rank, which nothing asks for.
struct MachineSpeed {
  DeviceSpeed device = {};
  LinkSpeed message = {};     // from one rank to another
  LinkSpeed collective = {};  // of all ranks: its latency, and the bytes of the whole value in a second
  double hiding_flops = 0;    // work that is at least so much hides the beginning of an exchange
};

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_MACHINE_SPEED_H_
