#pragma once

#include "study/folder.h"
#include "study/launcher.h"

namespace trainyard::study {

// Runs jobs on this machine, one after the other: two at once would disturb each other's times.
class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(Folder folder) : folder_(std::move(folder)) {}

  void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  Folder folder_;
};

}  // namespace trainyard::study
