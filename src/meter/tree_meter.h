#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <ctime>

#include "meter/pace.h"
#include "meter/process_stat.h"
#include "meter/system_files.h"

namespace trainyard::meter {

// TreeUsage is the past and current resource use of all processes that descend from this one.
struct TreeUsage {
  double cpu_seconds = 0;                          // of those that ended, too; to the microsecond
  double system_seconds = 0;                       // of that, in the kernel, in steps of 10 ms
  std::int64_t resident_bytes = 0;                 // a page that several share counts for each
  std::optional<std::int64_t> proportional_bytes;  // or for none but its share (PSS); seldom read
  std::optional<ProcessIo> disk;                   // absent: hidden from us
  bool disk_is_new = false;                        // not of an earlier reading
  int processes = 0;
};

// TreeMeter finds descendants by the lists of children in /proc, from this process down. During its lifetime
// this process adopts orphans, so that none is lost. Its owner calls `retire` for every child that has ended,
// before it waits for the child, and `reaped` after. CPU time and bytes of a process that another one waited
// for are then counted in that one. Not thread-safe: one thread uses it.
class TreeMeter {
 public:
  TreeMeter();
  ~TreeMeter();
  TreeMeter(const TreeMeter&) = delete;
  TreeMeter& operator=(const TreeMeter&) = delete;

  // Costs about a quarter of a per cent of a core, however often it is called and however many processes
  // there are, because readings get rarer. `now` is a time of the monotonic clock.
  TreeUsage sample(double now);
  double spent_seconds() const;  // CPU time that all readings took

  void retire(pid_t child);
  void reaped(const rusage& usage);

  bool any() const { return !processes_.empty(); }
  std::vector<pid_t> processes() const;                 // as of the last sample
  bool look_for_processes();                            // false: some process has gone
  double user_seconds() const { return reaped_user_; }  // of all that were waited for here
  double system_seconds() const { return reaped_system_; }
  std::int64_t largest_process_bytes() const { return largest_bytes_; }  // peak of any one

 private:
  struct Process {
    std::optional<clockid_t> clock;              // of all its threads; absent: it had gone
    KeptFile stat_file, io_file, children_file;  // children: of its first thread
    ProcessStat stat;
    std::optional<ProcessIo> io;
    double cpu_seconds = 0;  // its own
    std::int64_t proportional_bytes = 0;
  };
  static Process open_process(pid_t pid);
  static void add_children_of(pid_t parent, const Process& process, std::vector<pid_t>& found);
  bool read_clocks();  // false: some process has gone
  void read_stat();
  void read_io();
  void read_proportional();

  const KeptFile own_children_;  // of the thread that made this, and that all orphans go to
  std::map<pid_t, Process> processes_;
  std::vector<pid_t> order_;  // parents before their children
  // CPU time gets the largest share, because burst edges are found by it.
  Pace look_{0.00025}, clocks_{0.0012}, stat_{0.0003}, io_{0.0001}, proportional_{0.00015, 1};
  bool proportional_known_ = false;
  double reaped_user_ = 0, reaped_system_ = 0, cpu_so_far_ = 0, system_so_far_ = 0;
  ProcessIo departed_io_, io_so_far_;
  bool io_hidden_ = false;
  std::int64_t largest_bytes_ = 0;
};

}  // namespace trainyard::meter
