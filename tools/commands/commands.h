// The trainer's commands, one function each; tools/trainer.cc has the list.
#ifndef PARTITA_TOOLS_COMMANDS_COMMANDS_H_
#define PARTITA_TOOLS_COMMANDS_COMMANDS_H_

#include "tools/program/program.h"

namespace partita {

Command CalibrateCommand();  // calibrate.cc
Command CheckCommand();      // check.cc
Command ConvertCommand();    // convert.cc
Command EvaluateCommand();   // evaluate.cc
Command LaunchCommand();     // launch.cc
Command OracleCommand();     // oracle.cc
Command PlanCommand();       // plan.cc
Command PredictCommand();    // predict.cc
Command ShowCommand();       // show.cc
Command SweepCommand();      // sweep.cc
Command TablesCommand();     // tables.cc
Command TippingCommand();    // tipping.cc
Command TrainCommand();      // train.cc
Command VerifyCommand();     // verify.cc
Command VersionCommand();    // version.cc

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_COMMANDS_H_
