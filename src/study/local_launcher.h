#pragma once

#include "study/folder.h"
#include "study/launcher.h"

namespace trainyard::study {

// Runs jobs on this machine: those of different lanes at once, those without a lane one after the other, as
// two at once would disturb each other's times.
class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(Folder folder) : folder_(std::move(folder)) {}

  // Does what runs owe whose process was killed: their clean-up commands, and the clocks as they were.
  void settle() override;

  // `finished` and `stop` may be called by other threads; `finished` by one at a time.
  void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  Folder folder_;
};

}  // namespace trainyard::study
