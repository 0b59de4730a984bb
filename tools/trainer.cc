// The trainer.
#include <iostream>

#include "proto/run.pb.h"
#include "tools/commands/commands.h"
#include "tools/commands/processes/armed_fail_points.h"
#include "tools/commands/processes/set_up.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"
#include "tools/program/start/clean_start.h"

int main(int argc, char** argv) {
  using namespace partita;
  StartClean(argv);
  if (const absl::Status armed = ArmFailPointsOf(SystemEnvironment); !armed.ok()) {
    std::cerr << "trainer: " << std::string(armed.message()) << "\n";
    return ToExitCode(armed);
  }
  const ProgramDefinition trainer = {
      "trainer",
      "train a graph on many devices",
      RunSpec::default_instance(),
      TrainerCommands(),
      [](const google::protobuf::Message& message, const std::string& command) {
        return CheckRun(static_cast<const RunSpec&>(message), command);
      },
      [](const google::protobuf::Message& message) { return SetUpProcess(static_cast<const RunSpec&>(message)); },
  };
  return RunMain(trainer, argc, argv);
}
