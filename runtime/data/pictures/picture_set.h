// A set of pictures: where their bytes lie, and the class of each. The pictures themselves stay in files.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_PICTURE_SET_H_
#define PARTITA_RUNTIME_DATA_PICTURES_PICTURE_SET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/data/pictures/bad_files.h"
#include "runtime/data/pictures/codec/picture.h"

namespace partita {

struct PictureSample {
  std::string name;    // the path below the set's folder; of a shard: SHARD/NAME
  int32_t label = 0;   // in [0, classes)
  int32_t shard = -1;  // -1: a file of its own
  int64_t offset = 0;  // of its bytes in the file
  int64_t size = 0;
};

struct PictureSet {
  std::string folder;
  std::vector<std::string> shards;  // names in the folder
  std::vector<PictureSample> samples;
  int64_t decode_bytes = kDecodeBytes;  // that decoding one of them may take

  // Removes the samples whose `found` is an error, and reports them to `bad` in order; removes none if `bad` returns an
  // error.
  absl::Status Keep(const std::vector<absl::Status>& found, BadFiles& bad);
};

// What a place has of the two, in the order of names, which does not depend on the file system.
struct PictureSets {
  PictureSet train, test;
  std::vector<std::string> classes;
  BadFiles bad;
};

// The bytes of a sample. kInvalidArgument: the file was removed, or became shorter.
absl::Status ReadPicture(const PictureSet& set, const PictureSample& sample, std::vector<uint8_t>& bytes);

// The first of its bytes, at most `count`.
absl::Status ReadPictureStart(const PictureSet& set, const PictureSample& sample, int64_t count,
                              std::vector<uint8_t>& bytes);

// Where a sample lies, for messages.
std::string PathOf(const PictureSet& set, const PictureSample& sample);

// A hash of names, sizes and labels: ranks compare it, so that none trains on other pictures.
uint64_t Digest(const PictureSet& set);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_PICTURE_SET_H_
