#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

namespace trainyard::cli_test {

inline std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", parent));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

// The words with which it was started, with spaces between them.
inline std::string command_line_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (char& letter : text)
    if (letter == '\0') letter = ' ';
  return text;
}

inline bool has_ended(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z";
}

// Lists all processes below this one, now.
inline std::vector<pid_t> tree_below(pid_t parent) {
  std::vector<pid_t> all = children_of(parent);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  return all;
}

// True once all of them have ended, within a minute: on a busy machine soon is not at once.
inline bool end_soon(const std::vector<pid_t>& processes) {
  for (int look = 0; look < 3000; ++look) {
    if (std::all_of(processes.begin(), processes.end(), has_ended)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace trainyard::cli_test
