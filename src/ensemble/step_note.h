#pragma once

#include <thread>

#include "base/progress.h"

namespace trainyard::ensemble {

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

// Tells a listener the progress of the members for as long as it exists.
class EnsembleProgress {
 public:
  // `progress` may be null, and must outlive this object.
  EnsembleProgress(const std::filesystem::path& results, std::size_t members, ProgressListener* progress);

 private:
  std::jthread thread_;
};

}  // namespace trainyard::ensemble
