#include "launch/mpi_job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "comm/collective/collective.h"
#include "process/child.h"
#include "process/family.h"
#include "process/stop_request.h"

namespace trainyard::launch {

namespace {

constexpr int kPollMilliseconds = 50;

// Cores are ours to choose. Root is refused and ranks are counted against cores unless mpirun is told; in
// containers we are root, as a rule, and more ranks than cores is the caller's wish.
std::vector<std::string> command_of(const MpiJob& job) {
  std::vector<std::string> command{
      "mpirun", "-n", std::to_string(job.ranks), "--bind-to", "none", "--oversubscribe", "--tag-output"};
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  if (!job.hosts.empty()) {
    std::vector<std::string> slots;
    for (const Host& host : job.hosts)
      if (host.workers > 0)
        slots.push_back(fmt::format("{}:{}", host.is_here() ? "localhost" : host.name, host.workers));
    command.insert(command.end(), {"--host", joined(slots, ",")});
  }
  if (!job.remote_shell.empty())
    command.insert(command.end(), {"--mca", "plm", "rsh", "--mca", "plm_rsh_agent", job.remote_shell});
  command.push_back(process::own_program().string());
  command.insert(command.end(), job.words.begin(), job.words.end());
  return command;
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
    static const Pattern tag("^\\[[^\\]]*,(\\d+)\\]<(stdout|stderr)>: ?"),
        library("^\\[[^\\]]*:\\d+\\] "),  // Open MPI inside a rank
        killed("process rank (\\d+) .*exited on (signal \\d+ \\([^)]*\\))");
    const std::vector<std::string> found = tag.find(line);
    if (found.empty()) {
      keep("mpirun.log", line);
      const std::vector<std::string> ended = killed_.empty() ? killed.find(line) : std::vector<std::string>();
      if (!ended.empty()) {
        // Ranks that missed it may have complained before.
        lost_ = {std::stoi(ended[1])};
        killed_ = fmt::format("{} was ended by {}", name_of(lost_.front()), ended[2]);
      }
      return;
    }
    const std::string text = line.substr(found[0].size());
    keep(fmt::format("rank-{}.log", found[1]), text);
    constexpr std::string_view kOurs = "trainyard: ";
    if (text.starts_with(kOurs)) {
      if (complaint_.empty()) complain(text.substr(kOurs.size()));
    } else if (found[1] == "0" && found[2] == "stderr" && job_.notes != nullptr &&
               library.find(text).empty()) {
      job_.notes->note(text);
    }
  }

  std::string name_of(int rank) const {
    return job_.name_of ? job_.name_of(rank) : fmt::format("worker {}", rank);
  }

  void complain(const std::string& text) {
    static const Pattern missing(fmt::format("^rank ([\\d, ]+) {}", comm::collective::kDidNotTakePart));
    if (const std::vector<std::string> found = missing.find(text); !found.empty()) {
      std::istringstream ranks(found[1]);
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
    if (process::StopRequest::asked() && !passed_on) passed_on = ::kill(mpirun, SIGUSR1) == 0;
    pollfd ready{pipe, POLLIN, 0};
    if (::poll(&ready, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t count = ::read(pipe, text, sizeof text);
    if (count > 0) output.add(text, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return;
  }
}

}  // namespace

void place_ranks(MpiJob& job, const std::filesystem::path& hosts, const std::string& remote_shell) {
  if (hosts.empty()) return;
  std::vector<Host> machines = find_hosts(hosts, job.ranks, 0);
  if (!all_alike(machines))
    fail(ErrorKind::usage,
         "{} '{}': ranks of MPI compute alike, without device= and backend=", Setting{"hosts"},
         hosts.string());
  if (remote_shell.find("{}") != std::string::npos)
    fail(ErrorKind::usage, "{} '{}': mpirun names the machine last; without {{}}", Setting{"remote_shell"},
         remote_shell);
  std::stable_partition(machines.begin(), machines.end(), is_this_machine);
  job.hosts = std::move(machines);
  job.remote_shell = remote_shell;
}

bool all_are_here(const MpiJob& job) {
  return std::all_of(job.hosts.begin(), job.hosts.end(), is_this_machine);
}

MpiJobEnd run_mpi_job(const MpiJob& job) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const process::StopRequest guard;
  // A terminal's Ctrl-C comes through us. mpirun removes its files, and the ranks' shared memory, when it is
  // asked to end once; asked twice it leaves at once. So the guard alone asks it.
  const process::Child mpirun = process::start({.command = command_of(job),
                                                .output = ends[1],
                                                .error = ends[1],
                                                .own_group = true,
                                                .death_signal = 0});
  write_end.close();
  if (mpirun.start_errno == ENOENT) fail(ErrorKind::unsupported, "cannot start mpirun (Debian: openmpi-bin)");
  if (mpirun.start_errno != 0)
    fail(ErrorKind::io, "cannot start mpirun: {}", std::strerror(mpirun.start_errno));
  Output output(job);
  follow(ends[0], mpirun.pid, output);
  int status = 0;
  while (::waitpid(mpirun.pid, &status, 0) < 0 && errno == EINTR) {
  }
  process::end_marked(mpirun.mark);  // ranks that outlived an mpirun that was killed
  const int code = process::exit_code_of(status);
  return {code, output.reason(), output.lost()};
}

int ranks_here(const MpiJob& job) {
  if (job.hosts.empty()) {
    const char* text = std::getenv("SLURM_JOB_NUM_NODES");
    const int nodes = text == nullptr ? 1 : std::max(std::atoi(text), 1);
    return (job.ranks + nodes - 1) / nodes;
  }
  int ranks = 0;
  for (const Host& host : job.hosts) ranks += is_this_machine(host) ? host.workers : 0;
  return ranks;
}

}  // namespace trainyard::launch
