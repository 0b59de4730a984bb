#include "graph/proto_io/print_json.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/struct.pb.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/base/check.h"

namespace partita {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::ordered_json;
using Type = pb::FieldDescriptor::CppType;

// One value: of a field, or of one place in a list.
struct Place {
  const pb::Message& message;
  const pb::FieldDescriptor* field;
  int index;  // -1: no list
};

Json ToJson(const pb::Message& message);

template <typename Integer>
Json OfInteger(Integer value) {
  constexpr auto kMost = static_cast<Integer>(int64_t{1} << 53);
  const bool exact = value <= kMost && (std::is_unsigned_v<Integer> || value >= -kMost);
  return exact ? Json(value) : Json(fmt::to_string(value));
}

Json OfDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// The shortest decimal that reads back as the same float.
Json OfFloat(float value) {
  return std::isfinite(value) ? Json(std::strtod(fmt::to_string(value).c_str(), nullptr)) : OfDouble(value);
}

template <typename One, typename Listed>
auto Read(const Place& place, One one, Listed listed) {
  const pb::Reflection& reflection = *place.message.GetReflection();
  return place.index < 0 ? (reflection.*one)(place.message, place.field)
                         : (reflection.*listed)(place.message, place.field, place.index);
}

const pb::Message& ReadMessage(const Place& place) {
  const pb::Reflection& reflection = *place.message.GetReflection();
  return place.index < 0 ? reflection.GetMessage(place.message, place.field)
                         : reflection.GetRepeatedMessage(place.message, place.field, place.index);
}

Json ToJson(const Place& place) {
  using R = pb::Reflection;
  switch (place.field->cpp_type()) {
    case Type::CPPTYPE_INT32:
      return Read(place, &R::GetInt32, &R::GetRepeatedInt32);
    case Type::CPPTYPE_UINT32:
      return Read(place, &R::GetUInt32, &R::GetRepeatedUInt32);
    case Type::CPPTYPE_INT64:
      return OfInteger(Read(place, &R::GetInt64, &R::GetRepeatedInt64));
    case Type::CPPTYPE_UINT64:
      return OfInteger(Read(place, &R::GetUInt64, &R::GetRepeatedUInt64));
    case Type::CPPTYPE_DOUBLE:
      return OfDouble(Read(place, &R::GetDouble, &R::GetRepeatedDouble));
    case Type::CPPTYPE_FLOAT:
      return OfFloat(Read(place, &R::GetFloat, &R::GetRepeatedFloat));
    case Type::CPPTYPE_BOOL:
      return Read(place, &R::GetBool, &R::GetRepeatedBool);
    case Type::CPPTYPE_ENUM:
      return Read(place, &R::GetEnum, &R::GetRepeatedEnum)->name();
    case Type::CPPTYPE_STRING:
      CHECK(place.field->type() == pb::FieldDescriptor::TYPE_STRING);  // the schemas have no bytes
      return Read(place, &R::GetString, &R::GetRepeatedString);
    case Type::CPPTYPE_MESSAGE:
      return ToJson(ReadMessage(place));
  }
  return nullptr;
}

Json ListOf(const pb::Message& message, const pb::FieldDescriptor* field) {
  Json list = Json::array();
  const int count = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < count; ++i) list.push_back(ToJson(Place{message, field, i}));
  return list;
}

Json MapOf(const pb::Message& message, const pb::FieldDescriptor* field) {
  std::map<std::string, Json> sorted;
  const int count = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < count; ++i) {
    const pb::Message& entry = ReadMessage({message, field, i});
    const Json key = ToJson(Place{entry, entry.GetDescriptor()->map_key(), -1});
    sorted[key.is_string() ? key.get<std::string>() : key.dump()] =
        ToJson(Place{entry, entry.GetDescriptor()->map_value(), -1});
  }
  Json map = Json::object();
  for (auto& [key, value] : sorted) map[key] = std::move(value);
  return map;
}

// A value of any kind is written as what it is.
Json OfValue(const pb::Value& value) {
  switch (value.kind_case()) {
    case pb::Value::kBoolValue:
      return value.bool_value();
    case pb::Value::kStringValue:
      return value.string_value();
    case pb::Value::kNumberValue: {
      const double number = value.number_value();
      const bool whole = std::trunc(number) == number && std::abs(number) <= 0x1p53;
      return whole ? Json(static_cast<int64_t>(number)) : OfDouble(number);
    }
    default:
      return nullptr;  // the schemas have no lists and structures of them
  }
}

Json ToJson(const pb::Message& message) {
  if (const auto* const value = dynamic_cast<const pb::Value*>(&message)) return OfValue(*value);
  Json json = Json::object();
  const pb::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor* const field = type.field(i);
    if (field->is_map()) {
      json[field->name()] = MapOf(message, field);
    } else if (field->is_repeated()) {
      json[field->name()] = ListOf(message, field);
    } else if (!field->has_presence() || message.GetReflection()->HasField(message, field)) {
      json[field->name()] = ToJson(Place{message, field, -1});
    }
  }
  return json;
}

}  // namespace

std::string PrintJson(const pb::Message& message) {
  return ToJson(message).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace partita
