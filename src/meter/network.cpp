#include "meter/network.h"

#include <algorithm>
#include <charconv>

namespace trainyard::meter {
namespace {

constexpr int kSentNumber = 8;  // behind the name: bytes received, seven more of these, bytes sent

std::int64_t next_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

NetworkBytes parse_network(std::string_view text) {
  NetworkBytes all;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // headings
    const std::size_t begin = std::min(line.find_first_not_of(' '), colon);
    const bool loopback = line.substr(begin, colon - begin) == "lo";
    line.remove_prefix(colon + 1);
    const std::int64_t received = next_number(line);
    for (int skipped = 1; skipped < kSentNumber; ++skipped) next_number(line);
    const std::int64_t sent = next_number(line);
    all.received += received;
    all.sent += sent;
    if (loopback) all.loopback += sent;
  }
  return all;
}

}  // namespace trainyard::meter
