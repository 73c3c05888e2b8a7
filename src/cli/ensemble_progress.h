#pragma once

#include <cstdint>
#include <filesystem>
#include <thread>

#include "cli/ensemble_spec.h"

namespace trainyard::cli {

// A member's word of how far it is, in a file beside its results; written a few times a second at most.
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

// Shows on a terminal how far the members are, while it lives.
class EnsembleProgress {
 public:
  EnsembleProgress(const std::filesystem::path& results, const EnsembleSpec& spec, bool quiet);
  ~EnsembleProgress();

 private:
  std::jthread thread_;
};

}  // namespace trainyard::cli
