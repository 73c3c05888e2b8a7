#pragma once

#include <cstdint>
#include <filesystem>
#include <thread>

#include "cli/ensemble_spec.h"

namespace trainyard::cli {

// A member's word of how far it is, in a file beside its results; written a few times a second at most.
class StepNote {
 public:
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

// Shows on a terminal how far the members are, while it lives.
class EnsembleProgress {
 public:
  EnsembleProgress(const std::filesystem::path& results, const EnsembleSpec& spec, bool quiet);
  ~EnsembleProgress();

 private:
  std::jthread thread_;
};

// Steps of all members together that were reached, as their notes say it; a member without one counts as it
// did last. `last`: one number a member.
struct StepsReached {
  std::int64_t reached = 0, asked = 0;
};
StepsReached read_notes(const std::filesystem::path& results, std::vector<StepsReached>& last);

}  // namespace trainyard::cli
