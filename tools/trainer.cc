// The trainer.
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
      TrainerCommands(),
  };
  return RunMain(trainer, argc, argv);
}
