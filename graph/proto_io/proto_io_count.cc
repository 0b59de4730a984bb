#include "graph/proto_io/proto_io_count.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdint>

#include "graph/value/limits.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

namespace pb = google::protobuf;
using Wire = pb::internal::WireFormatLite;

// Every field and every element of a list has one of these marks before or behind it. Those in comments count as well.
int64_t CountText(const std::string& bytes) {
  return std::count_if(bytes.begin(), bytes.end(), [](char c) { return c == ':' || c == '{' || c == '<' || c == ','; });
}

class BinaryCounter {
 public:
  explicit BinaryCounter(const std::string& bytes)
      : stream_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  int64_t fields() const { return fields_; }

  // Messages nest as deep as the schema, so recursion is bounded. False: malformed, or there are too many.
  bool Count(const pb::Descriptor& type) {
    for (uint32_t tag = stream_.ReadTag(); tag != 0; tag = stream_.ReadTag()) {
      if (++fields_ > kMostFields) return false;
      const pb::FieldDescriptor* const field = type.FindFieldByNumber(Wire::GetTagFieldNumber(tag));
      if (Wire::GetTagWireType(tag) != Wire::WIRETYPE_LENGTH_DELIMITED) {
        if (!Wire::SkipField(&stream_, tag)) return false;
      } else if (!CountInside(field)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool CountInside(const pb::FieldDescriptor* field) {
    uint32_t length = 0;
    if (!stream_.ReadVarint32(&length) || length > kLargestProtoFile) return false;
    if (field == nullptr || field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      if (field != nullptr && field->is_packable()) fields_ += length;  // numbers of at least a byte each
      return stream_.Skip(static_cast<int>(length));
    }
    const auto limit = stream_.PushLimit(static_cast<int>(length));
    const bool counted = Count(*field->message_type());
    stream_.PopLimit(limit);
    return counted;
  }

  pb::io::CodedInputStream stream_;
  int64_t fields_ = 0;
};

}  // namespace

absl::Status CheckFieldCount(const std::string& bytes, ProtoFormat format, const std::string& source,
                             const pb::Descriptor& type) {
  int64_t fields = 0;
  if (format == ProtoFormat::kText) {
    fields = CountText(bytes);
  } else {
    BinaryCounter counter(bytes);
    counter.Count(type);
    fields = counter.fields();
  }
  if (fields <= kMostFields) return absl::OkStatus();
  return InvalidArgument("{}: has more than {} fields and elements of lists; at most so many are allowed", source,
                         kMostFields);
}

}  // namespace partita
