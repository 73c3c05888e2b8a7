#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/run_options.h"
#include "ps/mode.h"

namespace trainyard::cli {

// Training with parameter servers: how many, by which rules, over what.
struct PsOptions {
  int servers = 0;  // 0: not asked for
  std::string wire = "f32", wire_layout = "auto", transport = "auto";
  int least_workers = 0;  // 0: all of them
  int restarts = 3;
  double lease_seconds = 3, patience_seconds = 30;
  std::filesystem::path hosts;
  std::string remote_shell, address;
};

void add_ps_options(CLI::App& command, PsOptions& options);

// Error (usage) names the option.
void check(const PsOptions& options, const ps::ModeName& mode, int workers, const RunOptions& run);

// What a process is told that `train` starts for a job.
struct PsPart {
  std::string coordinator, listen, advertise, layout, share, key;
  std::string device, backend;  // empty: as the run's
  int number = 0;
  std::uint32_t fingerprint = 0;
  std::int64_t elements = 0, parameters = 0, batches = 0;
  std::uint64_t run = 0;
};

void add_part_options(CLI::App& command, PsPart& part, bool server);

}  // namespace trainyard::cli
