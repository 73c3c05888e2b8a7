#include "base/protobuf_wire.h"

#include <bit>

namespace trainyard {

static_assert(std::endian::native == std::endian::little, "records and protobuf are little-endian");

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_key(std::string& out, unsigned field, Wire wire) {
  put_varint(out, field << 3 | static_cast<unsigned>(wire));
}

void put_bytes(std::string& out, unsigned field, std::string_view content) {
  put_key(out, field, Wire::bytes);
  put_varint(out, content.size());
  out.append(content);
}

namespace {

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < rest.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      rest.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> WireReader::next_varint() { return take_varint(rest_); }

std::optional<WireField> WireReader::next() {
  std::string_view rest = rest_;
  const std::optional<std::uint64_t> key = take_varint(rest);
  if (!key || *key >> 3 == 0 || *key >> 32 != 0) return std::nullopt;
  WireField field{static_cast<unsigned>(*key >> 3), static_cast<Wire>(*key & 7), 0, {}};
  std::uint64_t length = 0;
  switch (field.wire) {
    case Wire::varint: {
      const std::optional<std::uint64_t> value = take_varint(rest);
      if (!value) return std::nullopt;
      field.value = *value;
      break;
    }
    case Wire::fixed64:
      length = 8;
      break;
    case Wire::fixed32:
      length = 4;
      break;
    case Wire::bytes: {
      const std::optional<std::uint64_t> announced = take_varint(rest);
      if (!announced) return std::nullopt;
      length = *announced;
      break;
    }
    default:  // groups, which nobody writes any more
      return std::nullopt;
  }
  if (length > rest.size()) return std::nullopt;
  field.bytes = rest.substr(0, length);
  rest.remove_prefix(length);
  rest_ = rest;
  return field;
}

}  // namespace trainyard
