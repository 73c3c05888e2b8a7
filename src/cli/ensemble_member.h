#pragma once

#include <cstdint>
#include <filesystem>
#include <thread>
#include <vector>

#include "cli/ensemble_options.h"
#include "cli/ensemble_spec.h"
#include "comm/collective/group.h"
#include "ensemble/fill_log.h"
#include "meter/cpu.h"
#include "record/run_record.h"

namespace trainyard::cli {

// A member's note of its progress, in a file beside its results. The member writes it a few times a second at
// most.
class StepNote {
 public:
  // `steps`: in all; 0: not known.
  StepNote(const std::filesystem::path& results, int member, std::int64_t steps);
  ~StepNote();  // removes it
  StepNote(const StepNote&) = delete;
  StepNote& operator=(const StepNote&) = delete;

  void reached(std::int64_t step);

 private:
  const std::filesystem::path path_;
  const std::int64_t steps_;
  int file_;
  double written_seconds_ = 0;
};

// Shows the progress of the members on a terminal for as long as it exists.
class EnsembleProgress {
 public:
  EnsembleProgress(const std::filesystem::path& results, const EnsembleSpec& spec, bool quiet);
  ~EnsembleProgress();

 private:
  std::jthread thread_;
};

// The resources that a process used while it took part in the stream.
struct StreamUse {
  meter::CpuUse cpu;
  std::vector<meter::ThreadTimes> threads;  // since they began
};

StreamUse use_since(const meter::CpuSnapshot& before);

// Adds the use, and how full the process's queues were meanwhile, to the record; ends the log.
void add_use(record::RunRecord& run, const StreamUse& use, ensemble::FillLog& log);

// The processes of an ensemble leave these files below its folder of results.
std::filesystem::path member_folder(const std::filesystem::path& results, int member);
inline constexpr const char* kVotesFile = "votes.bin";
inline constexpr const char* kPreprocessorRecord = "preprocessor.json";
// Removes a member's record and votes: those of a run before, or of one that was left out, are not this
// run's.
void forget_results(const std::filesystem::path& results, int member);

// Returns the place of a member's newest checkpoint in the stream, or the stream's beginning when there is no
// checkpoint.
ensemble::StreamPlace place_of(const EnsembleSpec& spec, const std::filesystem::path& folder);

// Trains one member of the stream, or takes the time of it, evaluates it, and leaves record and votes.
// Returns the exit code.
int run_member_in_place(const EnsembleOptions& options, const EnsemblePart& part);
// The same as a rank of an MPI job, which ends with it when it fails.
int run_member_as_rank(const EnsembleOptions& options, const EnsemblePart& part, comm::collective::Job& job);

// Makes samples for the members of this machine.
int run_preprocessor(const EnsembleOptions& options, const EnsemblePart& part);

}  // namespace trainyard::cli
