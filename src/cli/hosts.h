#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::cli {

// A machine of a job, and what runs on it.
struct Host {
  std::string name;     // as the remote shell takes it; empty: this machine
  std::string address;  // under which the others reach it
  int workers = 1, servers = 0;

  bool operator==(const Host&) const = default;
};

// One line a machine: NAME [address=A] [workers=N] [servers=S]; # begins a comment. Error (config) names file
// and line.
std::vector<Host> read_hosts(const std::filesystem::path& file);

// Those of the Slurm allocation that this process is in; none when it is in none. Asks scontrol.
std::vector<std::string> slurm_nodes();

// So many workers and servers, dealt out evenly in turns.
std::vector<Host> spread_over(const std::vector<std::string>& names, int workers, int servers);

}  // namespace trainyard::cli
