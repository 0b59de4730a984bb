// Pictures by class, a folder for each.
//
//   FOLDER/train/CLASS/...  and  FOLDER/test/CLASS/...   (or val, or validation, in place of test)
//   FOLDER/CLASS/...                                     a share of each class is held out for the test
//   FOLDER/test/PICTURE, FOLDER/PICTURE                  of no class: what is predicted
//   PICTURE                                              one file in place of a folder: likewise
//
// Classes are the names of the folders in the order of their bytes. All files below a class's folder, at any depth,
// belong to it. Foreign files and folders (IsForeignFile) and files next to the folders of classes are skipped. A link
// to a file is followed, a link to a folder only if it is a class.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_PICTURE_FOLDER_H_
#define PARTITA_RUNTIME_DATA_PICTURES_PICTURE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/pictures/bad_files.h"
#include "runtime/data/pictures/decode_threads.h"
#include "runtime/data/pictures/picture_set.h"

namespace partita {

struct ScanOptions {
  BadFilePolicy bad_files = BadFilePolicy::kStop;
  double test_share = 0.2;                // of undivided pictures: those whose names' hash lies below it
  std::vector<std::string> classes = {};  // that a model knows, in its order; none: those of the folder
  bool labelled = true;                   // false: pictures that lie in no class's folder, with all below, are a test
  // For archives, whose labels are numbers: the limit that all are below (0: no limit), and whether one class suffices,
  // as for a model that has learnt the classes.
  int64_t labels_below = 0;
  bool one_class = false;

  int64_t decode_bytes = kDecodeBytes;  // that decoding one picture may take

  // Which sets the caller needs: no file of the other one is opened, so a bad file there is no error.
  bool train = true, test = true;
  bool Wants(bool of_test) const { return of_test ? test : train; }
};

// Reads the beginning of each file of the needed sets. Bad are: files that are neither JPEG nor PNG or are too large,
// entries that are not files, broken links, classes without pictures. kInvalidArgument under every policy: no such
// folder, one picture that has to have a class, fewer than two classes, a class that training, or the model, does not
// have, no pictures.
absl::StatusOr<PictureSets> ScanPictureFolder(const std::string& folder, const ScanOptions& options,
                                              DecodeThreads& threads);

// Whether files beside its folders have names of pictures.
bool HasLoosePictures(const std::string& folder);

// Whether an undivided name belongs to the test set: a pure function of both arguments.
bool IsHeldOut(const std::string& name, double share);

// Of `set` the samples whose beginnings are those of pictures.
absl::Status KeepPictures(PictureSet& set, DecodeThreads& threads, BadFiles& bad);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_PICTURE_FOLDER_H_
