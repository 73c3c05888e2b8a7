#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ensemble/spec.h"
#include "run/train_options.h"

namespace trainyard::ensemble {

// The options of the commands of `ensemble`; the processes that they start get the same options.
struct EnsembleOptions {
  std::filesystem::path file;
  // Instead of what the file says; empty, 0 or below: as there.
  std::string design, lost;
  int members = 0, preprocessors = 0, threads = 0;
  std::int64_t steps = 0;
  double epochs = 0, patience = 0;
  double rate = -1;         // members train nothing and take so many images/s; 0: as fast as they come
  double seconds = 0;       // they end after so long
  double idle_seconds = 0;  // to take the machine's power before anything begins
  int cores = 0;            // that all processes together may use; 0: those that this one may
  std::filesystem::path out, record;
  std::filesystem::path hosts;  // file of machines, or the word slurm; empty: this one
  std::string remote_shell;
  run::ResumeOption resume;
  bool overwrite = false, no_eval = false, json = false, quiet = false;
};

// The file as the options change it. Error (config, usage) when design, members and preprocessors do not go
// together.
EnsembleSpec to_ensemble(const EnsembleOptions& options, const std::vector<int>& left_out = {});

// Opens the records.
StreamOptions to_stream(const EnsembleSpec& spec);

// The role of one process of the ensemble, in addition to the options that all processes share.
struct EnsemblePart {
  int member = 0;                   // of those that read in place; else its rank
  std::string stream;               // where it reads in place; empty: it takes part in passing
  std::int64_t first_position = 0;  // where a preprocessor begins
  std::filesystem::path announce;   // file for the address of a preprocessor
  std::filesystem::path results;    // folder in which each leaves its own
  std::vector<int> left_out;        // numbers of the members that were lost
};

}  // namespace trainyard::ensemble
