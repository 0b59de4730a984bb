#include "graph/proto_io/proto_io_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>

#include <optional>
#include <regex>
#include <vector>

#include "graph/proto_io/print_json.h"
#include "graph/proto_io/proto_io_count.h"
#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/file_name.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"

namespace partita {
namespace {

namespace pb = google::protobuf;

constexpr int kDeepest = 64;
constexpr int kSchemaVersion = 1;

// Keeps the first error; the later ones mostly follow from it.
class FirstError : public pb::io::ErrorCollector {
 public:
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (!error_) error_ = {line + 1, column + 1, message};
  }

  struct Error {
    int line = 0, column = 0;
    std::string message;
  };
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

std::vector<std::string> FieldNames(const pb::Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

// The descriptor of a message type by its full name, among `root` and what it contains.
const pb::Descriptor* FindType(const pb::Descriptor& root, const std::string& full_name) {
  return root.file()->pool()->FindMessageTypeByName(full_name);
}

// "optimizer" where `root` has a message in its field `optimizer` that has a field of that name; "": none of them has.
std::string ParentOf(const pb::Descriptor& root, const std::string& field) {
  for (int i = 0; i < root.field_count(); ++i) {
    const pb::Descriptor* const type = root.field(i)->message_type();
    if (type != nullptr && type->FindFieldByName(field) != nullptr) return root.field(i)->name();
  }
  return "";
}

// Protobuf's sentence, with a suggestion where it says that a field is unknown.
std::string Explain(const pb::Descriptor& root, const std::string& message) {
  constexpr size_t kShown = 240;
  static const auto& unknown = *new std::regex("^Message type \"([A-Za-z_.]+)\" has no field named \"([^\"]{1,64})\"");
  std::smatch match;
  const std::string head = message.substr(0, 512);
  if (!std::regex_search(head, match, unknown)) return Printable(message, kShown);
  const pb::Descriptor* type = FindType(root, match[1]);
  if (type == nullptr) return Printable(message, kShown);
  const std::string parent = type == &root ? ParentOf(root, match[2]) : "";
  if (!parent.empty()) {
    return fmt::format("{} has no field {}; it is a field of '{}': {} {{ {} ... }}", type->name(), Quoted(match[2]),
                       parent, parent, match[2].str());
  }
  return fmt::format("{} has no field {}{}", type->name(), Quoted(match[2]), Suggestion(match[2], FieldNames(*type)));
}

absl::Status ParseText(const std::string& bytes, const std::string& source, pb::Message& message) {
  FirstError errors;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kDeepest);
  pb::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  const bool parsed = parser.Parse(&stream, &message);
  const auto& error = errors.error();
  if (error) {
    return InvalidArgument("{}:{}:{}: {}", source, error->line, error->column,
                           Explain(*message.GetDescriptor(), error->message));
  }
  if (parsed) return absl::OkStatus();
  return InvalidArgument("{}: is not a {} in text form", source, message.GetDescriptor()->name());
}

// The first field that the schema does not know. Messages nest as deep as the schema, so recursion is bounded.
std::optional<std::string> UnknownField(const pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  const pb::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  const pb::Descriptor& type = *message.GetDescriptor();
  if (!unknown.empty()) return fmt::format("{} has no field with number {}", type.name(), unknown.field(0).number());
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor* field = type.field(i);
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      const int count = reflection.FieldSize(message, field);
      for (int j = 0; j < count; ++j) {
        if (auto found = UnknownField(reflection.GetRepeatedMessage(message, field, j))) return found;
      }
    } else if (reflection.HasField(message, field)) {
      if (auto found = UnknownField(reflection.GetMessage(message, field))) return found;
    }
  }
  return std::nullopt;
}

absl::Status ParseBinary(const std::string& bytes, const std::string& source, pb::Message& message) {
  pb::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kDeepest);
  const std::string& type = message.GetDescriptor()->name();
  if (!message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return InvalidArgument("{}: is not a {} in binary form, or is cut short ({} bytes)", source, type, bytes.size());
  }
  if (const std::optional<std::string> unknown = UnknownField(message)) {
    return InvalidArgument("{}: {}; a {} in binary form is needed, written for schema version {}", source, *unknown,
                           type, kSchemaVersion);
  }
  return absl::OkStatus();
}

absl::Status CheckVersion(const std::string& source, const pb::Message& message) {
  const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName("schema_version");
  CHECK(field != nullptr);
  const int version = message.GetReflection()->GetInt32(message, field);
  if (version == kSchemaVersion) return absl::OkStatus();
  return InvalidArgument("{}: schema_version is {}; {} is needed", source,
                         version == 0 ? "missing or 0" : fmt::to_string(version), kSchemaVersion);
}

// Text with one line for each field of the root, so that a node is a line.
std::string PrintText(const pb::Message& message) {
  pb::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.SetSingleLineMode(true);
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  std::string text, value;
  for (const pb::FieldDescriptor* field : fields) {
    CHECK(!field->is_map());  // has no order of its own
    const bool is_message = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      printer.PrintFieldValueToString(message, field, field->is_repeated() ? i : -1, &value);
      text += is_message ? fmt::format("{} {{ {}}}\n", field->name(), value)
                         : fmt::format("{}: {}\n", field->name(), value);
    }
  }
  return text;
}

std::string PrintBinary(const pb::Message& message) {
  std::string bytes;
  {
    pb::io::StringOutputStream stream(&bytes);
    pb::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    CHECK(message.SerializeToCodedStream(&coded));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<ProtoFormat> FormatOf(const std::string& path) {
  if (HasEnding(path, ".pbtxt") || HasEnding(path, ".textproto")) return ProtoFormat::kText;
  if (HasEnding(path, ".pb")) return ProtoFormat::kBinary;
  if (HasEnding(path, ".json")) return ProtoFormat::kJson;
  return InvalidArgument(
      "{}: the name's ending says no format; .pbtxt or .textproto (text), .pb (binary) and .json "
      "(written only) are known",
      Printable(path, 240));
}

absl::Status ParseMessage(const std::string& bytes, ProtoFormat format, const std::string& source,
                          pb::Message& message) {
  const pb::LogSilencer silence;
  const std::string& type = message.GetDescriptor()->name();
  if (static_cast<int64_t>(bytes.size()) > kLargestProtoFile) {
    return InvalidArgument("{}: has {} bytes; at most {} are allowed", source, bytes.size(), kLargestProtoFile);
  }
  if (format == ProtoFormat::kJson) {
    return InvalidArgument("{}: JSON is only written; a {} is read from .pbtxt, .textproto or .pb", source, type);
  }
  if (bytes.empty()) return InvalidArgument("{}: is empty; a {} is needed", source, type);
  if (bytes.compare(0, 2, "\x1f\x8b") == 0) {
    return InvalidArgument("{}: is compressed by gzip; a {} is needed as it is (gunzip it)", source, type);
  }
  const pb::Descriptor& descriptor = *message.GetDescriptor();
  if (format == ProtoFormat::kText) {
    std::string text = bytes;
    RETURN_IF_ERROR(TakeOffMark(source, text));
    RETURN_IF_ERROR(CheckFieldCount(text, format, source, descriptor));
    RETURN_IF_ERROR(ParseText(text, source, message));
  } else {
    RETURN_IF_ERROR(CheckFieldCount(bytes, format, source, descriptor));
    RETURN_IF_ERROR(ParseBinary(bytes, source, message));
  }
  return CheckVersion(source, message);
}

std::string PrintMessage(const pb::Message& message, ProtoFormat format) {
  const pb::LogSilencer silence;
  switch (format) {
    case ProtoFormat::kText:
      return PrintText(message);
    case ProtoFormat::kBinary:
      return PrintBinary(message);
    case ProtoFormat::kJson:
      return PrintJson(message);
  }
  return "";
}

absl::StatusOr<ProtoFile> ReadProtoFile(const std::string& path) {
  ProtoFile file;
  ASSIGN_OR_RETURN(file.format, FormatOf(path));
  ASSIGN_OR_RETURN(file.bytes, ReadFile(path, kLargestProtoFile));
  if (file.format != ProtoFormat::kText) return file;
  RETURN_IF_ERROR(TakeOffMark(path, file.bytes));
  if (file.bytes.empty() || file.bytes.back() == '\n') return file;
  return InvalidArgument("{}: its last line does not end; a text file ends with a newline (was it cut short?)", path);
}

absl::Status LoadMessage(const std::string& path, pb::Message& message) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseMessage(file.bytes, file.format, path, message);
}

absl::Status SaveMessage(const pb::Message& message, const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFormat format, FormatOf(path));
  return WriteFileAtomically(path, PrintMessage(message, format));
}

}  // namespace partita
