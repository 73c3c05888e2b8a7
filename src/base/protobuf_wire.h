#pragma once

#include "base/standard.h"

// This file reads and writes the part of protobuf's wire format that TensorFlow's events and examples need.

namespace trainyard {

enum class Wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Little-endian.
template <typename T>
void put_raw(std::string& out, const T& value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// REQUIRES: `bytes` has that many.
template <typename T>
T get_raw(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

void put_varint(std::string& out, std::uint64_t value);
void put_key(std::string& out, unsigned field, Wire wire);
void put_bytes(std::string& out, unsigned field, std::string_view content);

struct WireField {
  unsigned number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;  // of a varint
  std::string_view bytes;   // of the others, as they lie
};

// Walks the fields of a message; any bytes may be given.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // Returns nothing at the end, and where the bytes are not a field.
  std::optional<WireField> next();
  std::optional<std::uint64_t> next_varint();  // of a packed list
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace trainyard
