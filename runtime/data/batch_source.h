// The interface of data sources: returns any rows of any global batch, in any order, from any thread.
//
// A batch is named fields of any element type (docs/design.md 5.23), each a tensor whose first dimension is the rows.
// The global batch is one thing for all ranks. A rank asks for its rows of it, the block of the input's layout, which
// may be empty; ranks that ask for the same rows get the same bytes. Nothing here knows how many ranks there are.
//
// If samples differ in length, a source may have buckets: each batch has the size of one bucket. All buckets share the
// number of rows and the names and types of fields; a row of a field may be shorter.
#ifndef PARTITA_RUNTIME_DATA_BATCH_SOURCE_H_
#define PARTITA_RUNTIME_DATA_BATCH_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace partita {

// Rows [begin, end) of the global batch.
struct Rows {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const Rows&) const = default;
};

struct Field {
  std::string name;
  DType dtype = DType::kF32;
  Shape row;  // of one row: without the batch's dimension

  int64_t row_bytes() const { return Elements(row) * SizeOf(dtype); }
  bool operator==(const Field&) const = default;
};

// What a graph wants of a field: one of that name, type and size.
struct WantedField {
  Field field;
  int64_t classes = 0;   // its values are labels, each in [0, classes); 0: any
  bool needed = true;    // false: a field of that name is allowed but not read
  bool ids = false;      // its values are ids of a table that has `classes` rows, and no labels
  int64_t places = 0;    // its values are lengths of sequences with this number of places; 0: they are not
  bool weighs = false;   // its values say what each label counts in a loss
  bool divides = false;  // by the sum of its values in a batch the graph divides: that is not 0
  // Of labels: the one that the graph ignores, a class or not. Such a field divides by the number of its other values.
  std::optional<int64_t> ignored = {};
  // Where the elements of a row are ids of several tables: what each is below, 0: any. `classes` is then the most.
  std::vector<int64_t> classes_of = {};

  // What the element at that place of a row is below.
  int64_t ClassesAt(int64_t element) const {
    return classes_of.empty() ? classes : classes_of[static_cast<size_t>(element) % classes_of.size()];
  }
};

// Where rows of every field go, in the order of the fields: memory of the caller, aligned for the field's type and
// exactly as large as they are.
using FieldBuffers = std::vector<std::span<std::byte>>;

// Thread-safe: all methods are const and may be called at once.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  virtual const std::vector<Field>& fields() const = 0;  // of the largest bucket; never change
  virtual int64_t samples() const = 0;                   // in one epoch, each counted once
  virtual int64_t batch_rows() const = 0;                // of a global batch, filled-up rows included
  virtual int64_t batches_per_epoch() const = 0;         // at least 1; the last one may have fewer samples
  // The field that weighs the places of rows of words and is 0 at padding, so that a loss is one over words and its
  // exponential is a perplexity. Empty: rows are not of words.
  virtual std::string word_weights() const { return ""; }
  // Of an evaluation: the words of the set, by which its means over weighted places divide. 0: the weights make up for
  // padding already.
  virtual int64_t words() const { return 0; }
  // Whether places of samples, and not only whole rows, fill up the last batches of an evaluation. There the word
  // weights are 0.
  virtual bool fills_places() const { return false; }

  // What a sample of an evaluation, in the order of the set, is called; empty: nothing.
  virtual std::string name_of(int64_t /*sample*/) const { return ""; }

  // Whether a sample of an evaluation has nothing to read, so that what is decoded of it is empty.
  virtual bool is_empty(int64_t /*sample*/) const { return false; }

  // Buckets are numbered by their sizes: the last one is the largest, and no field is larger in one before it.
  virtual int64_t buckets() const { return 1; }
  virtual int64_t bucket(int64_t /*batch*/) const { return 0; }
  virtual const std::vector<Field>& fields_of(int64_t /*bucket*/) const { return fields(); }

  // Samples in a batch: its rows, without those that only fill it up.
  int64_t samples_of(int64_t batch) const;

  // kInvalidArgument: one of batches [first, end) cannot be made, as far as the source knows without reading any and
  // finds out within about a second.
  virtual absl::Status CheckBatches(int64_t /*first*/, int64_t /*end*/) const { return absl::OkStatus(); }

  // Writes rows of batch `batch` (counted from 0, on over the epochs: epoch = batch / batches_per_epoch()).
  // Rows or buffers that do not fit the batch's bucket are a bug of the caller (CHECK); an error is one of reading the
  // data.
  absl::Status Fill(int64_t batch, Rows rows, const FieldBuffers& out) const;

 private:
  // The same, of rows and buffers that fit.
  virtual absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_BATCH_SOURCE_H_
