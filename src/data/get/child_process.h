#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::data {

struct ChildResult {
  int start_errno = 0;  // not 0: the program could not be started
  int exit_code = 0;    // 128 + signal when a signal ended it
};

// Runs a program (found through PATH, no shell) in `folder`, its output going to `log`. `tick` is called
// about thirty times a second; when it throws, the child is ended and reaped first. The child dies with us.
ChildResult run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                      const std::filesystem::path& log, const std::function<void()>& tick);

}  // namespace trainyard::data
