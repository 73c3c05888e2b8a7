#pragma once

#include <sys/types.h>

#include <fstream>
#include <iterator>
#include <string>
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

}  // namespace trainyard::cli_test
