#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/hosts.h"
#include "cli/train_options.h"

namespace trainyard::cli {

// A program that runs beside this one, as part of a job. It has a process group of its own and all cores that
// this process was given.
class JobProcess {
 public:
  // `input` is what it reads; what it prints is added to `log`; `when_we_die` is the signal that it gets when
  // this process goes, however it does. Error (io) when it cannot be started.
  JobProcess(const std::vector<std::string>& command, const std::string& input,
             const std::filesystem::path& log, int when_we_die);
  ~JobProcess();  // kills it if it still runs
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  // Its exit code once it ended; 128 + signal when one ended it.
  std::optional<int> end_code();
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  std::optional<int> end_code_;
};

// Ranks that mpirun starts, all with the same words after this program's name.
struct MpiJob {
  int ranks = 1;
  std::vector<std::string> words;
  std::filesystem::path logs;                    // folder for what each rank and mpirun print; empty: nowhere
  bool quiet = false;                            // else what rank 0 prints on standard error is shown
  std::function<std::string(int rank)> name_of;  // empty: "worker 3"
  std::vector<Host> hosts{};                     // with so many workers each; none: mpirun decides
  std::string remote_shell{};                    // what starts a program there; empty: mpirun decides
};

struct MpiJobEnd {
  int exit_code = 0;      // mpirun's; 128 + signal
  std::string reason;     // the first thing a rank complained of, or how one was lost; "": nothing was said
  std::vector<int> lost;  // ranks that were killed, or did not come where others waited for them
};

// Puts the ranks on the machines that --hosts names, this one first, so that rank 0 is here where it can be.
// Nothing without hosts. Error (usage) when they ask for what MPI has not.
void place_ranks(MpiJob& job, const std::filesystem::path& hosts, const std::string& remote_shell);
bool all_are_here(const MpiJob& job);

// Runs it to its end. SIGINT, SIGTERM and SIGHUP are passed on as SIGUSR1, which mpirun gives to every rank;
// it would itself kill them. It dies with us. Error (unsupported) when there is no mpirun.
MpiJobEnd run_mpi_job(const MpiJob& job);

// How many of its ranks run on this machine: as they were placed, else all of them, or at most their share of
// a Slurm allocation's nodes.
int ranks_here(const MpiJob& job);

// The words with which this program was started, after its own name.
std::vector<std::string> own_words();

// Starts the workers of `train` as processes, and reports what they came to. Returns the exit code. Error
// (peer) when one of them is lost.
int start_workers(const TrainCommand& options);

}  // namespace trainyard::cli
