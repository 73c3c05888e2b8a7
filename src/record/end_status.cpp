#include "record/end_status.h"

#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "base/units.h"

namespace trainyard::record {

namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string without_our_name(const std::string& line) {
  constexpr std::string_view kPrefix = "trainyard: ";
  return line.starts_with(kPrefix) ? line.substr(kPrefix.size()) : line;
}

EndStatus status_of_signal(const process::ChildEnd& end, const std::string& last_line,
                           long out_of_memory_kills) {
  if (end.signal == SIGKILL && out_of_memory_kills > 0)
    return {Status::oom, fmt::format("killed by the kernel for want of memory, at {} resident",
                                     format_bytes(end.peak_resident_bytes))};
  if (has(last_line, "std::bad_alloc")) return {Status::oom, "out of memory: std::bad_alloc"};
  return {Status::crash, fmt::format("ended by signal {} ({}){}{}", end.signal, ::strsignal(end.signal),
                                     last_line.empty() ? "" : ": ", last_line)};
}

// Our own commands tell in their exit code who must act, and in one line what happened.
EndStatus status_of_exit(int code, const std::string& kind, const std::string& last_line) {
  const std::string said = without_our_name(last_line);
  if (kind != "program") {
    if (has(last_line, "out of memory")) return {Status::oom, said};
    if (says_not_a_number(last_line)) return {Status::nan, said};
    if (has(last_line, "loss diverged")) return {Status::diverged, said};
    if (code == 1) return {Status::refused, said};
    if (code == 130) return {Status::interrupted, said};
  }
  return {Status::failed, fmt::format("exit code {}{}{}", code, said.empty() ? "" : ": ", said)};
}

}  // namespace

bool says_not_a_number(const std::string& line) {
  return has(line, "loss became") || has(line, "is not finite");
}

EndStatus status_of_end(const process::ChildEnd& end, const std::string& kind, const std::string& last_line,
                        long out_of_memory_kills) {
  if (end.start_errno != 0)
    return {Status::refused, fmt::format("cannot be started: {}", std::strerror(end.start_errno))};
  if (end.timed_out)
    return {Status::timeout,
            fmt::format("killed at its time limit, after {}", format_seconds(end.wall_seconds))};
  if (end.over_memory_bytes > 0)
    return {Status::oom,
            fmt::format("killed at its memory limit of {}: its processes held {}",
                        format_bytes(end.memory_limit_bytes), format_bytes(end.over_memory_bytes))};
  if (end.stopped) return {Status::interrupted, "the study was interrupted"};
  if (end.signal != 0) return status_of_signal(end, last_line, out_of_memory_kills);
  if (end.exit_code != 0) return status_of_exit(end.exit_code, kind, last_line);
  return {};
}

}  // namespace trainyard::record
