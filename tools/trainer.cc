// The trainer: one line for each command.
#include "tools/commands/commands.h"
#include "tools/program/passive_threads.h"
#include "tools/program/run_main.h"
#include "tools/trainer_flags.h"

int main(int argc, char** argv) {
  using namespace partita;
  WaitPassively(argv);
  const ProgramDefinition trainer = {
      "trainer",
      "trains a graph on many devices",
      TrainerFlags(),
      {
          TrainCommand(),
          EvaluateCommand(),
          PredictCommand(),
          ConvertCommand(),
          LaunchCommand(),
          PlanCommand(),
          CalibrateCommand(),
          OracleCommand(),
          VerifyCommand(),
          CheckCommand(),
          ShowCommand(),
          SweepCommand(),
          TablesCommand(),
          TippingCommand(),
          VersionCommand(),
      },
  };
  return RunMain(trainer, argc, argv);
}
