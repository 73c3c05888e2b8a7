#include "meter/process_stat.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "meter/cgroup.h"

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

namespace {

std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    std::int64_t kibibytes = 0;
    std::istringstream(line.substr(key.size())) >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

std::int64_t available_bytes(const SystemFiles& files) {
  const auto kibibytes = keyed_integer(files.text("/proc/meminfo").value_or(""), "MemAvailable");
  const CgroupLimits limits = read_cgroup_limits(files);
  std::int64_t bytes = kibibytes.value_or(0) * 1024;
  if (limits.memory_bytes) {
    const std::int64_t left =
        std::max<std::int64_t>(limits.memory_left_bytes.value_or(*limits.memory_bytes - resident_bytes()), 1);
    bytes = bytes == 0 ? left : std::min(bytes, left);
  }
  return bytes;
}

std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }

std::int64_t anonymous_bytes() { return status_bytes("RssAnon:"); }

std::int64_t swapped_bytes(const SystemFiles& files) {
  const std::string text = files.text("/proc/vmstat").value_or("");
  const std::int64_t pages =
      keyed_integer(text, "pswpin").value_or(0) + keyed_integer(text, "pswpout").value_or(0);
  return pages * ::sysconf(_SC_PAGESIZE);
}

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
