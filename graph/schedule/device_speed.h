// How fast a device is, as far as the choice of streams asks (graph/plan/streams.h): launches are compared with each
// other, so relative numbers suffice.
#ifndef PARTITA_GRAPH_SCHEDULE_DEVICE_SPEED_H_
#define PARTITA_GRAPH_SCHEDULE_DEVICE_SPEED_H_

namespace partita {

// At first: about one core of the host, where a wait costs nothing beside the launches, so that all that can run side
// by side does.
struct DeviceSpeed {
  double flops_per_second = 5e10;       // of a node over f32
  double bf16_flops_per_second = 5e10;  // of a node that has an input in bf16
  double bytes_per_second = 1e10;       // of the device's memory, read and written
  double link_bytes_per_second = 1e9;   // of collectives
  double launch_seconds = 1e-6;         // that every launch takes, however small it is
  double wait_seconds = 0;              // by which a launch is late where it waits for another stream
};

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_DEVICE_SPEED_H_
