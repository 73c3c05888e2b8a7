#pragma once

#include <signal.h>
#include <sys/types.h>

#include <csignal>

#include "base/error.h"

namespace trainyard::process {

// A program that this process starts. Descriptors stay the caller's; -1 means /dev/null.
struct ChildOptions {
  std::vector<std::string> command = {};                           // found through PATH, no shell
  std::map<std::string, std::string> environment = {};             // added to ours
  std::optional<std::vector<std::string>> whole_environment = {};  // NAME=VALUE, instead of ours
  std::filesystem::path folder = {};                               // where it runs; empty: here
  int input = -1, output = STDOUT_FILENO, error = STDERR_FILENO;
  int inherited = -1;            // one more descriptor that it keeps
  bool own_group = false;        // it leads a process group: a terminal's Ctrl-C does not reach it
  bool default_signals = false;  // what we ignore of SIGINT, SIGTERM, SIGHUP and SIGPIPE, it does not
  const sigset_t* signal_mask = nullptr;  // null: ours
  std::vector<int> cores = {};            // that it may use; empty: as ours
  int death_signal = SIGKILL;             // that it gets when this process dies, before the guard; 0: none
  bool outlives_us = false;               // nothing ends it when this process dies
};

struct Child {
  pid_t pid = -1;
  int start_errno = 0;  // not 0: it could not be started, and there is none
  std::string mark;     // of it and all that it starts; see family.h
};

// Starts the program and returns once it runs, or could not be started. The program is a child of this
// process, which must wait for it. When the calling thread or this process ends, the child gets its death
// signal at once; its descendants, and processes that ignore the signal, are killed some seconds later. wait4
// reports the peak of memory of the program itself, without the memory that fork copied.
Child start(const ChildOptions& options);

// Returns the file that a command's first word names, as execvp finds it; a word with a slash is returned as
// it is. "" means that there is none, and errno says why.
std::string find_program(const std::string& name);

// Returns the program that this process runs.
std::filesystem::path own_program();

// Returns the words with which this program was started, after its own name.
std::vector<std::string> own_words();

// A shell or a study tells outcomes of our commands apart by these exit codes.
inline constexpr int kCallerCanMendIt = 1, kRunFailed = 2, kInterrupted = 130;
int exit_code(ErrorKind kind);

// Returns the exit code as shells count it: the code itself, or 128 + the signal that ended the process.
int exit_code_of(int wait_status);

// Runs `body` in a forked copy of this process, which prints nothing and leaves no core. Returns the result
// of `body`, or 128 + the signal that ended the copy; after `seconds` that is SIGALRM. `body` must not use
// locks that other threads may hold.
int run_in_copy(const std::function<int()>& body, unsigned seconds);

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
