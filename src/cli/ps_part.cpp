#include "cli/ps_part.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <iostream>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "base/cores.h"
#include "base/error.h"
#include "base/node_name.h"
#include "train/deployment.h"

namespace trainyard::cli {

void check(const PsPart& part, const char* command) {
  const auto wanted = [&](const char* option, bool given) {
    if (!given)
      fail(ErrorKind::usage, "{} wants {}: `trainyard train --workers N --servers S` starts it so", command,
           option);
  };
  wanted("--join", !part.coordinator.empty());
  wanted("--job-key", !part.key.empty());
}

comm::transport::JobKey read_key(const PsPart& part) {
  if (part.key != "-") return comm::transport::JobKey::read(part.key);
  std::string line;
  std::getline(std::cin, line);
  return comm::transport::JobKey::parse(line, "standard input");
}

std::vector<int> cores_of_share(int threads, int share, int workers) {
  const std::vector<int>& cores = process_cores();
  if (workers <= static_cast<int>(cores.size()))
    return train::share_cores(threads, workers)[static_cast<std::size_t>(share)];
  return {cores[static_cast<std::size_t>(share) % cores.size()]};
}

std::vector<int> cores_of_share(int threads, const std::string& share) {
  int number = 0, of = 0;
  const char *begin = share.data(), *end = begin + share.size();
  auto [slash, error] = std::from_chars(begin, end, number);
  if (error == std::errc{} && slash != end && *slash == '/') {
    const auto [stopped, second] = std::from_chars(slash + 1, end, of);
    if (second == std::errc{} && stopped == end && of > 0 && number >= 0 && number < of)
      return cores_of_share(threads, number, of);
  }
  fail(ErrorKind::usage, "--share '{}': wants two numbers, as 0/2", share);
}

void log_beginning(const char* what, int number) {
  log_line(fmt::format("{} {} on {}, process {}", what, number, node_name(), ::getpid()));
}

std::string node_in(const std::string& line, const char* what, int number) {
  const std::string begin = fmt::format(" {} {} on ", what, number), end = ", process ";
  const std::size_t from = line.find(begin), to = line.find(end, from);
  if (from == std::string::npos || to == std::string::npos) return "";
  return line.substr(from + begin.size(), to - from - begin.size());
}

void log_line(const std::string& line) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  fmt::print(stderr, "{:%H:%M:%S} {}\n", now, line);
  std::fflush(stderr);
}

}  // namespace trainyard::cli
