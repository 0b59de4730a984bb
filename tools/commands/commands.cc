#include "tools/commands/commands.h"

namespace partita {

std::vector<Command> TrainerCommands() {
  return {
      TrainCommand(),  EvaluateCommand(),   PredictCommand(), DecodeCommand(),    ScoreCommand(),   ConvertCommand(),
      LaunchCommand(), PostMortemCommand(), PlanCommand(),    CalibrateCommand(), OracleCommand(),  VerifyCommand(),
      CheckCommand(),  ShowCommand(),       SweepCommand(),   TablesCommand(),    TippingCommand(), VersionCommand(),
  };
}

}  // namespace partita
