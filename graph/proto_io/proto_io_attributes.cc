#include "graph/proto_io/proto_io_attributes.h"

#include <cmath>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kValues[] = "values";       // of a state: the numbers that it begins with (ops/values/initializer.h)
constexpr size_t kLongestList = 64 << 20;  // characters

absl::StatusOr<Attribute> ReadText(const std::string& attribute, const std::string& text) {
  const size_t most = attribute == kValues ? kLongestList : kLongestName;
  if (text.size() > most) return InvalidArgument("it has {} characters; at most {} are allowed", text.size(), most);
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return InvalidArgument("it is {}; printable ASCII characters are allowed", Quoted(text));
  }
  return Attribute(text);
}

absl::StatusOr<Attribute> ReadIntegers(const IntegersProto& proto) {
  constexpr int kMost = 64;
  if (proto.values_size() > kMost) {
    return InvalidArgument("it has {} integers; at most {} are allowed", proto.values_size(), kMost);
  }
  return Attribute(IntList(proto.values().begin(), proto.values().end()));
}

absl::StatusOr<Attribute> ReadValue(const AttributeProto& proto) {
  switch (proto.value_case()) {
    case AttributeProto::kBoolean:
      return Attribute(proto.boolean());
    case AttributeProto::kInteger:
      return Attribute(int64_t{proto.integer()});
    case AttributeProto::kNumber:
      if (std::isfinite(proto.number())) return Attribute(proto.number());
      return InvalidArgument("it is {}; a finite number is needed", proto.number());
    case AttributeProto::kText:
      return ReadText(proto.name(), proto.text());
    case AttributeProto::kIntegers:
      return ReadIntegers(proto.integers());
    case AttributeProto::VALUE_NOT_SET:
      break;
  }
  return InvalidArgument("it has no value; one of boolean, integer, number, text, integers is needed");
}

struct WriteValue {
  AttributeProto& proto;
  void operator()(bool value) { proto.set_boolean(value); }
  void operator()(int64_t value) { proto.set_integer(value); }
  void operator()(double value) { proto.set_number(value); }
  void operator()(const std::string& value) { proto.set_text(value); }
  void operator()(const IntList& value) {
    IntegersProto& integers = *proto.mutable_integers();
    for (int64_t number : value) integers.add_values(number);
  }
};

}  // namespace

absl::StatusOr<Attributes> ReadAttributes(const AttributeProtos& protos) {
  Attributes attributes;
  for (const AttributeProto& proto : protos) {
    RETURN_IF_ERROR(WithContext("an attribute", CheckNodeName(proto.name())));
    const std::string context = fmt::format("attribute {}", Quoted(proto.name()));
    if (attributes.Has(proto.name())) return InvalidArgument("{} is given twice; once is allowed", context);
    absl::StatusOr<Attribute> value = ReadValue(proto);
    if (!value.ok()) return WithContext(context, value.status());
    attributes.Set(proto.name(), *std::move(value));
  }
  return attributes;
}

void WriteAttributes(const Attributes& attributes, AttributeProtos& protos) {
  for (const auto& [name, value] : attributes.entries()) {
    AttributeProto& attribute = *protos.Add();
    attribute.set_name(name);
    std::visit(WriteValue{attribute}, value);
  }
}

}  // namespace partita
