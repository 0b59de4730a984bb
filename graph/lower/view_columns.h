// Lets kernels read and write columns of wider rows where they lie, in place of launches that would only copy them.
//
//   before   %a = slice(%x) columns 0:2   %b = slice(%x) columns 2:5   %c = f(%a)   %d = g(%b)
//   after    %c = f(%x columns 0:2)   %d = g(%x columns 2:5)
//
//   before   %a = f(...)   %b = g(...)   %y = concat(%a, %b)   %c = h(%a)
//   after    %y columns 0:2 = f(...)   %y columns 2:5 = g(...)   %c = h(%y columns 0:2)
//
// Columns are taken along the last dimension; columns of columns are columns of the widest rows. A slice goes if every
// kernel that reads it can read columns there, a concat if every kernel that makes or reads one of its inputs can
// (KernelCatalogue::TakesColumns) and still is the one that the catalogue chooses; else both stay as they are. Moves,
// the host and updates need dense bytes. An observer cannot see a value that is columns of another one or is made in
// columns (ValuePlacement).
#ifndef PARTITA_GRAPH_LOWER_VIEW_COLUMNS_H_
#define PARTITA_GRAPH_LOWER_VIEW_COLUMNS_H_

#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"

namespace partita {

// Before AssignStorage. Linear in the launches.
void ViewColumns(LocalProgram& program, const KernelCatalogue& kernels);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_VIEW_COLUMNS_H_
