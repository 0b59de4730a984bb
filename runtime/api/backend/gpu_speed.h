// How fast a GPU is reckoned to be, and over how many streams its launches are spread, until measured.
#ifndef PARTITA_RUNTIME_API_BACKEND_GPU_SPEED_H_
#define PARTITA_RUNTIME_API_BACKEND_GPU_SPEED_H_

#include "graph/schedule/device_speed.h"

namespace partita {

// An inception block has four branches.
inline constexpr int kComputeStreamsOfGpu = 4;

// Peaks of NVIDIA's data sheet of the H200 SXM (2024): 67 TFLOP/s in f32, 495 in TF32 and 989 in bf16 without sparsity,
// memory of 4.8 TB/s, 450 GB/s of NVLink each way. Estimates: a small kernel of a captured step takes 2 us; one that
// follows on another stream begins 2 us later than on the same one.
inline DeviceSpeed GpuSpeed(bool allow_tf32) {
  DeviceSpeed speed;
  speed.flops_per_second = allow_tf32 ? 495e12 : 67e12;
  speed.bf16_flops_per_second = 989e12;
  speed.bytes_per_second = 4.8e12;
  speed.link_bytes_per_second = 450e9;
  speed.launch_seconds = 2e-6;
  speed.wait_seconds = 2e-6;
  return speed;
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_BACKEND_GPU_SPEED_H_
