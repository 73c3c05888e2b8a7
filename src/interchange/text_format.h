#pragma once

#include "base/standard.h"

// Limits that keep any file within memory and 64-bit numbers, and the reader of protobuf's text format.

namespace trainyard::interchange {

inline constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 31;  // protobuf's own limit
inline constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 29;  // of a file that is text
inline constexpr std::int64_t kMaxNodes = 1'000'000;
// Counts names, shapes, dimensions and numbers of attributes together; a long name counts as several.
inline constexpr std::int64_t kMaxItems = 8'000'000;
inline constexpr std::int64_t kNameBytes = 32;
inline constexpr int kMaxDepth = 64;  // of messages within messages
inline constexpr int kMaxRank = 32;
// Limits a tensor: a product of two such counts, twice, is still a 64-bit number.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;
// Limits a graph: a training step, three times as much, is still a 64-bit number.
inline constexpr std::int64_t kMaxFlops = std::int64_t{1} << 60;
// Limits a window's kernel, stride, dilation and padding.
inline constexpr std::int64_t kMaxWindow = 1 << 16;

// Protobuf's text format, read field by field: "name: value", "name { ... }", lists in brackets, comments. It
// knows no message; any bytes may be given. Errors (config) begin with `who` and say the line.
class TextReader {
 public:
  TextReader(std::string_view text, const std::string& who) : text_(text), who_(who), frames_(1) {}

  enum class Kind : std::uint8_t { scalar, open, close, end };
  struct Event {
    Kind kind = Kind::end;
    std::string_view name;   // of a scalar, or of the message that opens
    std::string_view value;  // of a scalar, as it is written, without quotes
    bool quoted = false;
  };

  Event next();
  // Passes over the rest of the message that was opened last.
  void skip_message();

  std::int64_t integer(const Event& event) const;
  bool truth(const Event& event) const;
  std::string text(const Event& event) const;  // escapes undone
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  struct Frame {
    char closer = '\0';
    std::string_view list = {};  // name of the list that is being read; empty: none
  };

  void skip_space();
  bool take(char wanted);
  Event value_of(std::string_view name);
  Event quoted_value(std::string_view name);
  std::string_view field_name();

  std::string_view text_;
  const std::string& who_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace trainyard::interchange
