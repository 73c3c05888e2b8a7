#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace trainyard::cli_test {

struct CommandResult {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out, err;
};

struct CommandOptions {
  std::filesystem::path folder;                    // where it runs; what it prints is kept beside it
  std::map<std::string, std::string> environment;  // added to ours
};

// A child process. Killed by the destructor if it still runs.
class Command {
 public:
  Command(const std::vector<std::string>& arguments, const CommandOptions& options);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool running();
  CommandResult wait();  // killed after a minute, and then exit_code is that of SIGKILL

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  std::filesystem::path out_, err_;
};

// The built `trainyard` with these arguments.
std::vector<std::string> trainyard(const std::string& arguments);
CommandResult run(const std::vector<std::string>& arguments, const CommandOptions& options);

std::vector<std::string> words_of(const std::string& text);

}  // namespace trainyard::cli_test
