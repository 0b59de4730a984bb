#include "runtime/checkpoint/header.h"

#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kMetadata[] = "__metadata__";
constexpr size_t kMostDimensions = 64;
constexpr size_t kLongestPrintable = 100;
// What stands before the JSON in the file: its length.
constexpr size_t kJsonOffset = 8;
constexpr uint64_t kLargestNumber = std::numeric_limits<int64_t>::max();

// Receives the JSON piece by piece and follows it through the one shape that is allowed. Nothing is built that could
// nest, so neither depth nor duplicate keys can hide anything. Returning false stops the parser.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  const absl::Status& status() const { return status_; }
  Header Take() { return std::move(header_); }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a truth value"); }
  bool number_integer(number_integer_t) override { return Unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return Unexpected("a number that is no 64-bit integer");
  }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::kShape && state_ != State::kOffsets) return Unexpected("a number");
    if (value > kLargestNumber) return Unexpected("a number of 2^63 or more");
    std::vector<int64_t>& list = state_ == State::kShape ? tensor_.shape : offsets_;
    if (list.size() == kMostDimensions) return Fail(fmt::format("found more than {} numbers", kMostDimensions));
    list.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::kMetadata) {
      header_.metadata[key_] = value;
      return true;
    }
    if (state_ != State::kTensor || key_ != "dtype") return Unexpected("a text");
    tensor_.type = FindStoredType(value);
    if (tensor_.type == nullptr) return Fail(fmt::format("found {}, which is no type of the format", Printable(value)));
    return true;
  }

  bool start_object(std::size_t) override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kTop && key_ == kMetadata) {
      state_ = State::kMetadata;
    } else if (state_ == State::kTop) {
      tensor_ = StoredTensor{key_, nullptr, {}, 0, 0};
      offsets_.clear();
      fields_.clear();
      state_ = State::kTensor;
    } else {
      return Unexpected("an object");
    }
    return true;
  }

  bool key(string_t& key) override {
    const bool fresh = state_ == State::kTop        ? names_.insert(key).second
                       : state_ == State::kMetadata ? !header_.metadata.contains(key)
                                                    : fields_.insert(key).second;
    key_ = key;
    if (!fresh) return Fail(fmt::format("found the key {} twice, allowed is once", Printable(key)));
    if (state_ == State::kTensor && key != "dtype" && key != "shape" && key != "data_offsets") {
      return Fail("found an unknown field, allowed are dtype, shape, data_offsets");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTensor) return EndTensor();
    state_ = state_ == State::kTop ? State::kEnd : State::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ != State::kTensor || key_ == "dtype") return Unexpected("a list");
    state_ = key_ == "shape" ? State::kShape : State::kOffsets;
    return true;
  }

  bool end_array() override {
    state_ = State::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    // "[...] parse error at line 1, column 5: syntax error while parsing value - REASON; last read: ...": the reason.
    std::string reason = error.what();
    if (const size_t dash = reason.find(" - "); dash != std::string::npos) reason.erase(0, dash + 3);
    reason = reason.substr(0, reason.find("; last read"));
    status_ = InvalidArgument("{}: offset {}: found a header that is not JSON in UTF-8: {}", file_,
                              kJsonOffset + (position > 0 ? position - 1 : 0), reason);
    return false;
  }

 private:
  enum class State { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool Fail(const std::string& what) {
    status_ = InvalidArgument("{}: {}: {}", file_, Place(), what);
    return false;
  }

  bool Unexpected(const char* found) { return Fail(fmt::format("found {}, allowed is {}", found, Allowed())); }

  std::string Place() const {
    switch (state_) {
      case State::kStart:
      case State::kEnd:
        return "header";
      case State::kTop:
        return fmt::format("header entry {}", Printable(key_));
      case State::kMetadata:
        return fmt::format("{} {}", kMetadata, Printable(key_));
      case State::kTensor:
      case State::kShape:
      case State::kOffsets:
        return fmt::format("tensor {}: {}", Printable(tensor_.name), Printable(key_));
    }
    return "";
  }

  const char* Allowed() const {
    if (state_ == State::kMetadata) return "a text";
    if (state_ == State::kShape || state_ == State::kOffsets) return "a whole number from 0 below 2^63";
    if (state_ != State::kTensor) return "an object";
    return key_ == "dtype" ? "a text" : "a list of whole numbers";
  }

  bool EndTensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      key_ = field;
      if (!fields_.contains(field)) return Fail("found none, each tensor has dtype, shape and data_offsets");
    }
    if (offsets_.size() != 2)
      return Fail(fmt::format("found {} numbers, allowed are 2: begin and end", offsets_.size()));
    tensor_.begin = offsets_[0];
    tensor_.end = offsets_[1];
    header_.tensors.push_back(std::move(tensor_));
    state_ = State::kTop;
    return true;
  }

  const std::string file_;
  State state_ = State::kStart;
  std::string key_;
  std::set<std::string> names_;   // keys of the header
  std::set<std::string> fields_;  // keys of the tensor that is being read
  StoredTensor tensor_;
  std::vector<int64_t> offsets_;
  Header header_;
  absl::Status status_;
};

// What the parser is lenient about: it skips a byte order mark and white space, and takes a NUL for the end.
absl::Status CheckFrame(const std::string& file, std::string_view json) {
  if (json.empty() || json.front() != '{') {
    return InvalidArgument("{}: offset {}: found {}, a header begins with '{{'", file, kJsonOffset,
                           Printable(json.substr(0, 1)));
  }
  if (const size_t nul = json.find('\0'); nul != std::string_view::npos) {
    return InvalidArgument("{}: offset {}: found a NUL byte in the header", file, kJsonOffset + nul);
  }
  const size_t last = json.find_last_not_of(' ');
  if (json[last] != '}') {
    return InvalidArgument("{}: offset {}: found {}, a header ends with '}}' and spaces", file, kJsonOffset + last,
                           Printable(json.substr(last, 1)));
  }
  return absl::OkStatus();
}

std::string Quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// By hand but for the escapes: an ordered JSON object of the library searches all its keys at each new one.
std::string ToJson(const Header& header) {
  std::string json = "{";
  const auto add = [&json](const std::string& key, const std::string& value) {
    if (json.back() != '{') json += ',';
    json += Quoted(key) + ":" + value;
  };
  if (!header.metadata.empty()) {
    json += Quoted(kMetadata) + ":{";
    for (const auto& [key, text] : header.metadata) add(key, Quoted(text));
    json += '}';
  }
  for (const StoredTensor& tensor : header.tensors) {
    add(tensor.name, fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", tensor.type->name,
                                 fmt::join(tensor.shape, ","), tensor.begin, tensor.end));
  }
  return json + "}";
}

}  // namespace

absl::StatusOr<Header> ParseHeader(const std::string& file, std::string_view json) {
  RETURN_IF_ERROR(CheckFrame(file, json));
  HeaderReader reader(file);
  const bool complete = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  RETURN_IF_ERROR(reader.status());
  if (!complete) return InvalidArgument("{}: found a header that is not JSON", file);
  return reader.Take();
}

absl::StatusOr<std::string> FormatHeader(const std::string& file, const Header& header) {
  std::string json;
  try {
    json = ToJson(header);
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("{}: a tensor name or a metadata text is not UTF-8: {}", file, error.what());
  }
  json.resize((json.size() + 7) / 8 * 8, ' ');
  return json;
}

std::string Printable(std::string_view name) {
  const bool cut = name.size() > kLongestPrintable;
  const nlohmann::json text = std::string(name.substr(0, kLongestPrintable));
  // Bytes that are not UTF-8 become U+FFFD, so nothing throws.
  return text.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + (cut ? "..." : "");
}

}  // namespace partita
