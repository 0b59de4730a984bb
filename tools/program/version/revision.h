// The commit that a program was built from.
#ifndef PARTITA_TOOLS_PROGRAM_VERSION_REVISION_H_
#define PARTITA_TOOLS_PROGRAM_VERSION_REVISION_H_

namespace partita {

// Of git, with "-dirty" where something was changed since; "unknown" of a build without --stamp (docs/formats.md 11.1).
extern const char kRevision[];

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_VERSION_REVISION_H_
