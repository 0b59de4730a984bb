// The commit that a program was built from.
#ifndef PARTITA_RUN_HOST_REVISION_H_
#define PARTITA_RUN_HOST_REVISION_H_

namespace partita {

// The git revision, with "-dirty" after uncommitted changes; "unknown" without --stamp (docs/reference/build.md 1).
extern const char kRevision[];

}  // namespace partita

#endif  // PARTITA_RUN_HOST_REVISION_H_
