#pragma once

#include "base/progress.h"
#include "launch/hosts.h"

namespace trainyard::launch {

// Ranks that mpirun starts, all with the same words after this program's name.
struct MpiJob {
  int ranks = 1;
  std::vector<std::string> words;
  std::filesystem::path logs;                    // folder for what each rank and mpirun print; empty: nowhere
  ProgressListener* notes = nullptr;             // hears what rank 0 prints on standard error; null: nobody
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
// Without hosts it does nothing. Error (usage) when they ask for what MPI has not.
void place_ranks(MpiJob& job, const std::filesystem::path& hosts, const std::string& remote_shell);

bool all_are_here(const MpiJob& job);

// Runs it to its end. SIGINT, SIGTERM and SIGHUP are passed on as SIGUSR1, which mpirun gives to every rank;
// it would itself kill them. It dies with us. Error (unsupported) when there is no mpirun.
MpiJobEnd run_mpi_job(const MpiJob& job);

// Returns how many of its ranks run on this machine: as they were placed, else all of them, or at most their
// share of a Slurm allocation's nodes.
int ranks_here(const MpiJob& job);

}  // namespace trainyard::launch
