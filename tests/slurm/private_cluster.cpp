#include "slurm/private_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "study/slurm/cluster.h"

namespace trainyard::slurm_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr auto kPatience = std::chrono::seconds(120);

void pause_milliseconds(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::string short_host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

// Found free by the kernel, all at once so that they differ.
std::array<int, 3> free_ports() {
  std::array<int, 3> sockets{}, ports{};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    sockets[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof address;
    if (::bind(sockets[i], reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no free port");
    ports[i] = ntohs(address.sin_port);
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

void start(const Words& words, const fs::path& log) {
  if (::fork() != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600),
            input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

pid_t parent_of(pid_t pid) {
  std::ifstream stream(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(stream, line);
  const std::size_t after_name = line.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream rest(line.substr(after_name + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return state == 'Z' ? 0 : parent;
}

std::set<pid_t> descendants() {
  std::set<pid_t> found;
  const pid_t self = ::getpid();
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      const pid_t parent = pid > 0 ? parent_of(pid) : 0;
      if (parent == self || found.contains(parent)) grows |= found.insert(pid).second;
    }
  }
  return found;
}

// Starts the daemons and waits for the lifeline to break. As a subreaper it is the parent of whatever they
// leave behind, the jobs' processes above all, and so knows what to end.
[[noreturn]] void keep(const fs::path& folder, int lifeline) {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const fs::path munge = folder / "munge";
  start({"munged", "--foreground", "--force", "--num-threads=4", "--key-file=" + (munge / "key").string(),
         "--socket=" + (munge / "socket").string(), "--pid-file=" + (munge / "pid").string(),
         "--seed-file=" + (munge / "seed").string(), "--log-file=" + (munge / "log").string()},
        folder / "munged.log");
  for (int i = 0; i < 100 && !fs::exists(munge / "socket"); ++i) pause_milliseconds(50);
  start({"slurmctld", "-D", "-i"}, folder / "slurmctld.out");
  for (const char* node : {"n1", "n2"}) start({"slurmd", "-D", "-N", node}, folder / "slurmd.out");
  char byte = 0;
  while (::read(lifeline, &byte, 1) < 0) {
  }
  for (int i = 0; i < 200; ++i) {
    const std::set<pid_t> left = descendants();
    if (left.empty()) break;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    pause_milliseconds(10);
  }
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  std::error_code ignored;  // whoever made it may be gone
  fs::remove_all(folder, ignored);
  ::_exit(0);
}

std::string tail_of(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::string tail;
  for (std::size_t i = lines.size() > 8 ? lines.size() - 8 : 0; i < lines.size(); ++i)
    tail += lines[i] + '\n';
  return fmt::format("== {}\n{}", file.filename().string(), tail);
}

bool in_path(const std::string& program) {
  for (const char* folder : {"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"})
    if (::access(fmt::format("{}/{}", folder, program).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

std::string PrivateCluster::obstacle() {
  if (::geteuid() != 0) return "a private Slurm needs root";
  for (const char* program : {"munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "srun"})
    if (!in_path(program))
      return fmt::format("no program '{}' (Debian: apt install slurm-wlm munge)", program);
  return "";
}

PrivateCluster::PrivateCluster() {
  write_configuration();
  ::setenv("SLURM_CONF", (folder() / "slurm.conf").c_str(), 1);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  keeper_ = ::fork();
  if (keeper_ == 0) {
    ::close(ends[1]);
    keep(folder(), ends[0]);
  }
  ::close(ends[0]);
  lifeline_ = ends[1];
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (study::slurm::run_command({"sinfo", "--noheader", "--partition=shared", "--format=%D %T"}).out !=
         "2 idle\n") {
    if (std::chrono::steady_clock::now() > deadline) {
      std::string logs;
      for (const char* file : {"munged.log", "slurmctld.out", "slurmd.out"}) logs += tail_of(folder() / file);
      throw std::runtime_error("the private Slurm does not come up\n" + logs);
    }
    pause_milliseconds(100);
  }
}

PrivateCluster::~PrivateCluster() {
  ::close(lifeline_);
  ::waitpid(keeper_, nullptr, 0);
  ::unsetenv("SLURM_CONF");
}

void PrivateCluster::write_configuration() const {
  const std::string at = folder().string(), host = short_host_name();
  const auto [controller, first, second] = free_ports();
  for (const char* name : {"state", "munge", "tmp.n1", "tmp.n2"}) fs::create_directories(folder() / name);
  std::string key(128, '\0');
  std::ifstream("/dev/urandom", std::ios::binary).read(key.data(), static_cast<std::streamsize>(key.size()));
  fs::permissions(folder_.write("munge/key", key), fs::perms::owner_read);
  for (const char* device : {"k80-0", "k80-1", "k80-2", "k80-3", "p100-0", "p100-1"})
    folder_.write(device, "");
  folder_.write("gres.conf", fmt::format("NodeName=n1 Name=gpu Type=k80 File={0}/k80-[0-3]\n"
                                         "NodeName=n2 Name=gpu Type=p100 File={0}/p100-[0-1]\n",
                                         at));
  folder_.write("plugstack.conf", "");
  // Nothing of ours is kept in control groups; named, the plugin does not look for where they are mounted,
  // which in a container may be nowhere.
  folder_.write("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n");
  folder_.write("slurm.conf",
                fmt::format(R"(ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge/socket
CredType=cred/munge
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool.%n
TmpFS={at}/tmp.%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.%n.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd.%n.log
PlugStackConfig={at}/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=100000
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=3
JobCompType=jobcomp/filetxt
JobCompLoc={at}/completed_jobs
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=4 RealMemory=1000 Gres=gpu:k80:4
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=4 RealMemory=1000 Gres=gpu:p100:2
PartitionName=shared Nodes=n1,n2 Default=YES
PartitionName=exclusive Nodes=n1,n2 OverSubscribe=EXCLUSIVE
)",
                            fmt::arg("host", host), fmt::arg("controller", controller), fmt::arg("at", at),
                            fmt::arg("first", first), fmt::arg("second", second)));
}

}  // namespace trainyard::slurm_test
