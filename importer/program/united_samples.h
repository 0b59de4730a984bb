// One name for the number of samples of an exported program.
#ifndef PARTITA_IMPORTER_PROGRAM_UNITED_SAMPLES_H_
#define PARTITA_IMPORTER_PROGRAM_UNITED_SAMPLES_H_

#include "importer/program/exported_program.h"

namespace partita::torch_export {

// The first dimension of each input is the batch. Where nothing in the program compares two of them, torch.export gives
// them symbols of their own, also under one Dim: these become that of the first input, if the example has as many
// samples in both.
void UniteSamples(ExportedProgram& program);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_PROGRAM_UNITED_SAMPLES_H_
