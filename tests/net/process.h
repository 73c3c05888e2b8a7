#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::net_test {

void sleep_for(double seconds);

struct Exit {
  int code = 0;
  int signal = 0;  // that ended it; then there is no code

  std::string to_string() const;  // "exit 3", "signal 9"
  bool operator==(const Exit&) const = default;
};

// A child that prints to a file. It is gone when this object goes, and when the thread that made it goes.
class Process {
 public:
  Process(const std::vector<std::string>& command, std::filesystem::path output);
  // Runs `work` in a copy of this process and leaves with what it returns. REQUIRES: no other thread holds
  // what `work` needs: of this process only the calling thread is in the copy.
  Process(const std::function<int()>& work, std::filesystem::path output);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number);
  void kill();  // with SIGKILL; waits until it is gone
  void stop();  // waits until it stands still
  void resume();

  // None: it still runs after so many seconds. 0 looks without waiting.
  std::optional<Exit> wait(double seconds);
  bool runs() { return !wait(0); }

  std::string output() const;
  double cpu_seconds() const;  // that all its threads used, in steps of 0.01; 0 when it is gone

 private:
  void start(const std::function<int()>& work);

  std::filesystem::path output_;
  pid_t pid_ = -1;
  std::optional<Exit> exit_;
};

// Share of one core that it uses in the next so many seconds: what waits uses none.
double cpu_share(const Process& process, double seconds);

// "PID NAME STATE" of every process below this one, also those whose own parents are gone. Those that nobody
// has waited for are among them.
std::vector<std::string> processes_left();

}  // namespace trainyard::net_test
