#include "meter/tree_meter.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>

namespace trainyard::meter {
namespace {

constexpr std::size_t kMostChildrenText = 1 << 14;  // about two thousand of one thread

// This clock counts all threads of a process to the nanosecond; /proc has steps of 10 ms only.
std::optional<clockid_t> cpu_clock_of(pid_t process) {
  clockid_t clock{};
  return ::clock_getcpuclockid(process, &clock) == 0 ? std::optional(clock) : std::nullopt;
}

// Returns a negative number when the process has gone.
double cpu_clock_seconds(std::optional<clockid_t> clock) {
  timespec time{};
  if (!clock || ::clock_gettime(*clock, &time) != 0) return -1;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void add_numbers(std::string_view text, std::vector<pid_t>& found) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (pid_t number = 0;;) {
    while (at != end && *at == ' ') ++at;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc()) return;
    found.push_back(number);
    at = next;
  }
}

}  // namespace

TreeMeter::TreeMeter() : own_children_(fmt::format("/proc/{0}/task/{0}/children", ::getpid())) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

TreeMeter::~TreeMeter() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

TreeMeter::Process TreeMeter::open_process(pid_t pid) {
  std::array<char, 4096> buffer;
  Process process;
  process.clock = cpu_clock_of(pid);
  process.stat_file = KeptFile(fmt::format("/proc/{}/stat", pid));
  process.io_file = KeptFile(fmt::format("/proc/{}/io", pid));
  process.children_file = KeptFile(fmt::format("/proc/{0}/task/{0}/children", pid));
  process.stat = parse_process_stat(process.stat_file.read(buffer)).value_or(ProcessStat());
  return process;
}

// A child belongs to the thread that started it.
void TreeMeter::add_children_of(pid_t parent, const Process& process, std::vector<pid_t>& found) {
  std::array<char, kMostChildrenText> buffer;
  if (process.stat.threads == 1) return add_numbers(process.children_file.read(buffer), found);
  std::error_code code;
  std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", parent), code);
  for (; !code && task != std::filesystem::directory_iterator(); task.increment(code))
    add_numbers(KeptFile(task->path().string() + "/children").read(buffer), found);
}

bool TreeMeter::look_for_processes() {
  std::array<char, kMostChildrenText> buffer;
  std::vector<pid_t> found, below;
  add_numbers(own_children_.read(buffer), found);
  std::set<pid_t> seen(found.begin(), found.end());
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto known = processes_.find(found[i]);
    if (known == processes_.end()) known = processes_.emplace(found[i], open_process(found[i])).first;
    below.clear();
    add_children_of(found[i], known->second, below);
    for (const pid_t child : below)
      if (seen.insert(child).second) found.push_back(child);
  }
  order_ = std::move(found);
  return std::erase_if(processes_, [&](const auto& entry) { return !seen.contains(entry.first); }) == 0;
}

bool TreeMeter::read_clocks() {
  bool all = true;
  for (const pid_t pid : order_) {
    const auto process = processes_.find(pid);
    if (process == processes_.end()) continue;
    const double seconds = cpu_clock_seconds(process->second.clock);
    if (seconds >= 0)
      process->second.cpu_seconds = seconds;
    else
      all = false;
  }
  return all;
}

void TreeMeter::read_stat() {
  std::array<char, 4096> buffer;
  // Parents are read first, so that a child that its parent reaps meanwhile is missed for one sample and
  // never counted twice.
  for (const pid_t pid : order_) {
    const auto entry = processes_.find(pid);
    if (entry == processes_.end()) continue;
    Process& process = entry->second;
    if (!process.stat_file.is_open()) continue;  // too many files are open: its clock must do
    const std::optional<ProcessStat> stat = parse_process_stat(process.stat_file.read(buffer));
    if (!stat) {
      processes_.erase(entry);
      continue;
    }
    process.stat = *stat;
  }
}

void TreeMeter::read_io() {
  std::array<char, 4096> buffer;
  io_hidden_ = false;
  for (auto& [pid, process] : processes_) {
    if (const auto io = parse_process_io(process.io_file.read(buffer))) {
      process.io = io;
      continue;
    }
    const std::optional<ProcessStat> still_there = parse_process_stat(process.stat_file.read(buffer));
    io_hidden_ = io_hidden_ || (still_there && still_there->state != 'Z');
  }
}

void TreeMeter::read_proportional() {
  static const std::string kKey = "Pss";
  std::array<char, 4096> buffer;
  for (auto& [pid, process] : processes_) {
    const std::string_view text = KeptFile(fmt::format("/proc/{}/smaps_rollup", pid)).read(buffer);
    if (const auto kibibytes = keyed_integer(text, kKey)) {
      process.proportional_bytes = *kibibytes * 1024;
      proportional_known_ = true;
    }
  }
}

TreeUsage TreeMeter::sample(double now) {
  TreeUsage usage;
  bool all_there = true;
  if (look_.due(now)) look_.run(now, [&] { all_there = look_for_processes(); });
  if (clocks_.due(now)) clocks_.run(now, [&] { all_there = read_clocks() && all_there; });
  // The figures of a process that has gone are in its parent's by now, so these are read again.
  if (!all_there || stat_.due(now)) stat_.run(now, [&] { read_stat(); });
  usage.disk_is_new = !all_there || io_.due(now);
  if (usage.disk_is_new) io_.run(now, [&] { read_io(); });
  if (!processes_.empty() && proportional_.due(now)) proportional_.run(now, [&] { read_proportional(); });
  double cpu = reaped_user_ + reaped_system_, system = reaped_system_;
  ProcessIo io = departed_io_;
  std::int64_t proportional = 0;
  for (const auto& [pid, process] : processes_) {
    cpu += process.cpu_seconds + process.stat.children_user_seconds + process.stat.children_system_seconds;
    system += process.stat.system_seconds + process.stat.children_system_seconds;
    io.read_bytes += process.io ? process.io->read_bytes : 0;
    io.written_bytes += process.io ? process.io->written_bytes : 0;
    usage.resident_bytes += process.stat.resident_bytes;
    proportional += process.proportional_bytes;
    usage.processes += process.stat.state != 'Z';
  }
  // The time of a process that another one reaps is missing for a moment, so the sums never decrease.
  usage.cpu_seconds = cpu_so_far_ = std::max(cpu_so_far_, cpu);
  usage.system_seconds = system_so_far_ = std::max(system_so_far_, system);
  io_so_far_.read_bytes = std::max(io_so_far_.read_bytes, io.read_bytes);
  io_so_far_.written_bytes = std::max(io_so_far_.written_bytes, io.written_bytes);
  if (!io_hidden_) usage.disk = io_so_far_;
  if (proportional_known_) usage.proportional_bytes = proportional;
  return usage;
}

double TreeMeter::spent_seconds() const {
  return look_.spent_seconds() + clocks_.spent_seconds() + stat_.spent_seconds() + io_.spent_seconds() +
         proportional_.spent_seconds();
}

void TreeMeter::retire(pid_t child) {
  std::array<char, 4096> buffer;
  const std::optional<ProcessIo> io =
      parse_process_io(KeptFile(fmt::format("/proc/{}/io", child)).read(buffer));
  if (io) {
    departed_io_.read_bytes += io->read_bytes;
    departed_io_.written_bytes += io->written_bytes;
  }
  processes_.erase(child);
}

void TreeMeter::reaped(const rusage& usage) {
  reaped_user_ += seconds_of(usage.ru_utime);
  reaped_system_ += seconds_of(usage.ru_stime);
  largest_bytes_ = std::max<std::int64_t>(largest_bytes_, usage.ru_maxrss * 1024);
}

std::vector<pid_t> TreeMeter::processes() const {
  std::vector<pid_t> list;
  for (const auto& [pid, process] : processes_) list.push_back(pid);
  return list;
}

}  // namespace trainyard::meter
