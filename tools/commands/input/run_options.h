// The options for compiling and running a program, from a command's flags.
#ifndef PARTITA_TOOLS_COMMANDS_INPUT_RUN_OPTIONS_H_
#define PARTITA_TOOLS_COMMANDS_INPUT_RUN_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "graph/schedule/machine_speed.h"
#include "graph/sets/set_results.h"
#include "runtime/api/rank/session_options.h"
#include "tools/program/flags.h"

namespace partita {

// Flags that these functions read, but for seed and delay-seed, which commands that run nothing do not take.
// device, gpu, launch-each, threads, memory, bucket-bytes, overlap-halo, precision, verify-passes, log
std::vector<std::string> RunFlags();

// Of commands whose results need not be those of another run; others are deterministic and compute f32 in f32.
// tf32, deterministic, plan-cache
std::vector<std::string> AccelerationFlags();

// What floating values of the graph are: f32, or f64 where --precision says so.
DType FloatingType(const Flags& flags);

// The model of the GPU that --device and --gpu say (ModelOfGpu); of the host empty.
std::string GpuModelFor(const Flags& flags);

// `speed`: of the target machine (SpeedFor), also below.
ProgramOptions ReadProgramOptions(const Flags& flags, const MachineSpeed& speed);

// How results of the model's evaluation follow from those of batches.
absl::StatusOr<SetResults> SetResultsOf(const Model& model);

// MakeProgram of the graph that the command's argument names, whose evaluation reports what SetResultsOf asks for;
// errors name that file, and the strategy's.
absl::StatusOr<Program> MakeProgramOf(const Flags& flags, const Model& model, const Strategy& strategy,
                                      const ProgramOptions& options);

SessionOptions ReadSessionOptions(const Flags& flags, const MachineSpeed& speed);

// The same for a command without AccelerationFlags.
SessionOptions ReadExactSessionOptions(const Flags& flags, const MachineSpeed& speed);

// The same for a command that runs nothing: without seeds.
SessionOptions ReadPlanOptions(const Flags& flags, const MachineSpeed& speed);

// Whether AccelerationFlags fit the device.
absl::Status CheckAcceleration(const Flags& flags);

// Whether ranks can run on what --device and --gpu say: said before anything is read, and before threads are started.
// On a GPU a deterministic command excludes NVLS from now on (tools/program/start/nccl_variables.h).
absl::Status CheckDevice(const Flags& flags);

// Sets the log up as --log says. Before the command starts threads.
absl::Status SetUpLogging(const Flags& flags);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_INPUT_RUN_OPTIONS_H_
