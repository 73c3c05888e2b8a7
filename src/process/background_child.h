#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::process {

// A program that runs beside this one, as part of a job. It has a process group of its own and all cores that
// this process was given.
class BackgroundChild {
 public:
  // `input` is what it reads; what it prints is added to `log`; `when_we_die` is the signal that it gets when
  // this process goes, however it does. Error (io) when it cannot be started.
  BackgroundChild(const std::vector<std::string>& command, const std::string& input,
                  const std::filesystem::path& log, int when_we_die);
  ~BackgroundChild();  // kills it if it still runs
  BackgroundChild(const BackgroundChild&) = delete;
  BackgroundChild& operator=(const BackgroundChild&) = delete;

  // Its exit code once it ended; 128 + signal when one ended it.
  std::optional<int> end_code();
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  std::optional<int> end_code_;
};

}  // namespace trainyard::process
