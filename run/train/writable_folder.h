// Folders that a run will write to, looked at before it begins.
#ifndef PARTITA_RUN_TRAIN_WRITABLE_FOLDER_H_
#define PARTITA_RUN_TRAIN_WRITABLE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace partita {

// FlagError of this flag unless the folder, or what of its path is there, can be written to. Makes nothing.
absl::Status CheckWritableFolder(const char* flag, const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_WRITABLE_FOLDER_H_
