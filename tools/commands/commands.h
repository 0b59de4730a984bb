// The trainer's commands, one function each.
#ifndef PARTITA_TOOLS_COMMANDS_COMMANDS_H_
#define PARTITA_TOOLS_COMMANDS_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/run.pb.h"
#include "tools/program/program.h"

namespace partita {

Command CalibrateCommand();   // calibrate.cc
Command CheckCommand();       // check.cc
Command ConvertCommand();     // convert.cc
Command DecodeCommand();      // decode.cc
Command EvaluateCommand();    // evaluate.cc
Command FitCommand();         // fit.cc
Command LaunchCommand();      // launch.cc
Command OracleCommand();      // oracle.cc
Command PlanCommand();        // plan.cc
Command PostMortemCommand();  // post_mortem.cc
Command PredictCommand();     // predict.cc
Command ScoreCommand();       // score.cc
Command ShowCommand();        // show.cc
Command SweepCommand();       // sweep.cc
Command TrainCommand();       // train.cc
Command VerifyCommand();      // verify.cc
Command VersionCommand();     // version.cc

// All of them, in the order of the help.
std::vector<Command> TrainerCommands();

// CheckSpec and CheckOutputs, for ProgramDefinition::check.
absl::Status CheckRun(const RunSpec& spec, const std::string& command);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_COMMANDS_H_
