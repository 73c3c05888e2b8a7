#pragma once

#include "base/device_spec.h"

namespace trainyard::launch {

// A Host is a machine of a job, and what runs on it.
struct Host {
  std::string name;     // as the remote shell takes it; empty: this machine
  std::string address;  // under which the others reach it
  int workers = 1, servers = 0;
  std::optional<DeviceSpec> device{};  // of its workers; none: as the run's
  std::string backend = {};            // the same; empty: as the run's

  bool is_here() const { return name.empty(); }
  bool operator==(const Host&) const = default;
};

// Reads one line for each machine: NAME [address=A] [workers=N] [servers=S] [device=D] [backend=B]; # begins
// a comment. The name localhost means this machine, and a machine may have several lines. Error (config)
// names file and line.
std::vector<Host> read_hosts(const std::filesystem::path& file);

// Returns the nodes of the Slurm allocation of this process, without workers and servers; none outside an
// allocation. Asks scontrol.
std::vector<Host> slurm_nodes();

// Returns the address under which the other processes reach this one: Slurm's address of its node, when it
// runs on one of Slurm's nodes.
std::string own_address(const std::vector<Host>& hosts);

// Distributes the workers and servers evenly over the hosts, in turns.
void spread(int workers, int servers, std::vector<Host>& hosts);

// Finds the machines of a job with so many workers and servers: those of a file, or with "slurm" the nodes of
// this allocation. Error (usage) when there is none, or the file has other numbers.
std::vector<Host> find_hosts(const std::filesystem::path& hosts, int workers, int servers);

// Returns whether this process runs on `host`.
bool is_this_machine(const Host& host);

// Returns the number of workers on the machine of `host`.
int workers_beside(const Host& host, const std::vector<Host>& hosts);

// Returns whether all workers compute alike, as far as the lines say.
bool all_alike(const std::vector<Host>& hosts);

}  // namespace trainyard::launch
