#include "cli/mpirun.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "train/stop_request.h"

namespace trainyard::cli {
namespace {

constexpr int kPollMilliseconds = 50;
constexpr int kNoProgram = 127;

// Cores are ours to choose. Root is refused and ranks are counted against cores unless mpirun is told; in
// containers we are root, as a rule, and more ranks than cores is the caller's wish.
std::vector<std::string> command_of(const MpiJob& job) {
  std::vector<std::string> command{
      "mpirun", "-n", std::to_string(job.ranks), "--bind-to", "none", "--oversubscribe", "--tag-output"};
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  command.insert(command.end(), job.words.begin(), job.words.end());
  return command;
}

[[noreturn]] void become(const std::vector<char*>& arguments, int output, pid_t parent) {
  ::setpgid(0, 0);  // a terminal's Ctrl-C comes through us
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kNoProgram);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(kNoProgram);
}

// Takes what mpirun prints apart: whose line it is, and what it means.
class Output {
 public:
  explicit Output(const MpiJob& job) : job_(job) {}

  void add(const char* text, std::size_t length) {
    rest_.append(text, length);
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      add_line(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
  }

  std::string reason() const { return killed_.empty() ? complaint_ : killed_; }
  const std::vector<int>& lost() const { return lost_; }

 private:
  void add_line(const std::string& line) {
    static const std::regex tag("^\\[[^\\]]*,(\\d+)\\]<(stdout|stderr)>: ?"),
        library("^\\[[^\\]]*:\\d+\\] "),  // Open MPI inside a rank
        killed("process rank (\\d+) .*exited on (signal \\d+ \\([^)]*\\))");
    std::smatch found;
    if (!std::regex_search(line, found, tag)) {
      keep("mpirun.log", line);
      if (killed_.empty() && std::regex_search(line, found, killed)) {
        // Those who missed it may have complained before.
        lost_ = {std::stoi(found[1].str())};
        killed_ = fmt::format("{} was ended by {}", name_of(lost_.front()), found[2].str());
      }
      return;
    }
    const std::string text = found.suffix();
    keep(fmt::format("rank-{}.log", found[1].str()), text);
    constexpr std::string_view kOurs = "trainyard: ";
    if (text.starts_with(kOurs)) {
      if (complaint_.empty()) complain(text.substr(kOurs.size()));
    } else if (found[1] == "0" && found[2] == "stderr" && !job_.quiet && !std::regex_search(text, library)) {
      fmt::print(stderr, "{}\n", text);
    }
  }

  std::string name_of(int rank) const {
    return job_.name_of ? job_.name_of(rank) : fmt::format("worker {}", rank);
  }

  void complain(const std::string& text) {
    static const std::regex missing("^rank ([\\d, ]+) did not come");
    std::smatch found;
    if (std::regex_search(text, found, missing)) {
      std::istringstream ranks(found[1].str());
      for (std::string rank; std::getline(ranks, rank, ',');) lost_.push_back(std::stoi(rank));
    }
    complaint_ = text;
  }

  void keep(const std::string& file, const std::string& line) {
    if (job_.logs.empty()) return;
    std::ofstream& log = logs_[file];
    if (!log.is_open()) {
      make_folders(job_.logs);
      log.open(job_.logs / file);
    }
    log << line << std::endl;
  }

  const MpiJob& job_;
  std::string rest_, complaint_, killed_;
  std::vector<int> lost_;
  std::map<std::string, std::ofstream> logs_;
};

// Until all who could print have ended. A request to stop is passed on once.
void follow(int pipe, pid_t mpirun, Output& output) {
  bool passed_on = false;
  char text[4096];
  for (;;) {
    if (train::StopRequest::asked() && !passed_on) passed_on = ::kill(mpirun, SIGUSR1) == 0;
    pollfd ready{pipe, POLLIN, 0};
    if (::poll(&ready, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t count = ::read(pipe, text, sizeof text);
    if (count > 0) output.add(text, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return;
  }
}

}  // namespace

MpiJobEnd run_mpi_job(const MpiJob& job) {
  const std::vector<std::string> command = command_of(job);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  const train::StopRequest guard;
  const pid_t parent = ::getpid(), mpirun = ::fork();
  if (mpirun == 0) become(arguments, ends[1], parent);
  ::close(ends[1]);
  if (mpirun < 0) fail(ErrorKind::io, "cannot start mpirun: {}", std::strerror(errno));
  Output output(job);
  follow(ends[0], mpirun, output);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(mpirun, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == kNoProgram && output.reason().empty())
    fail(ErrorKind::unsupported, "cannot start mpirun (Debian: openmpi-bin)");
  return {code, output.reason(), output.lost()};
}

std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.erase(words.begin());
  return words;
}

}  // namespace trainyard::cli
