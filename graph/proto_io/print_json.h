// Prints a message as idiomatic JSON: numbers are numbers.
#ifndef PARTITA_GRAPH_PROTO_IO_PRINT_JSON_H_
#define PARTITA_GRAPH_PROTO_IO_PRINT_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace partita {

// Field names of the schema in its order, and every field that is no message, also unset ones, but for optional ones;
// maps by key. Unlike protobuf's own form, integers of 64 bits are numbers as well, where a double holds them exactly
// (up to 2^53 either way), and strings beyond; numbers that are not finite are "NaN", "Infinity", "-Infinity".
std::string PrintJson(const google::protobuf::Message& message);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROTO_IO_PRINT_JSON_H_
