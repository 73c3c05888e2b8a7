#include "meter/process_stat.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "meter/system_files.h"

namespace trainyard::meter {
namespace {

// Words of proc(5), counted from the state, which follows the name in parentheses.
enum Word {
  kStatState = 0,
  kStatUser = 11,
  kStatSystem,
  kStatChildrenUser,
  kStatChildrenSystem,
  kStatThreads = 17,
  kStatResident = 21
};

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::size_t close = text.rfind(')');  // the name may hold any letter
  if (close == std::string_view::npos || close + 2 >= text.size()) return std::nullopt;
  text.remove_prefix(close + 2);
  ProcessStat stat;
  stat.state = text.front();
  std::array<std::int64_t, kStatResident + 1> numbers{};
  std::size_t word = 0;
  for (; word <= kStatResident && !text.empty(); ++word) {
    std::from_chars(text.data(), text.data() + text.size(), numbers[word]);
    text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  }
  if (word <= kStatResident) return std::nullopt;
  stat.user_seconds = static_cast<double>(numbers[kStatUser]) * tick;
  stat.system_seconds = static_cast<double>(numbers[kStatSystem]) * tick;
  stat.children_user_seconds = static_cast<double>(numbers[kStatChildrenUser]) * tick;
  stat.children_system_seconds = static_cast<double>(numbers[kStatChildrenSystem]) * tick;
  stat.threads = static_cast<int>(numbers[kStatThreads]);
  stat.resident_bytes = numbers[kStatResident] * page;
  return stat;
}

std::optional<ProcessIo> parse_process_io(std::string_view text) {
  const auto read = keyed_integer(text, "read_bytes"), written = keyed_integer(text, "write_bytes");
  if (!read || !written) return std::nullopt;
  return ProcessIo{*read, *written};
}

}  // namespace trainyard::meter
