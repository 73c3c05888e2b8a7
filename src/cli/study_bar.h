#pragma once

#include "cli/progress_bar.h"
#include "study/cell/cost.h"
#include "study/run/run_study.h"

namespace trainyard::cli {

// Shows the progress of a study as a bar on a terminal: by the estimates of its runs, or by their number when
// there are no estimates.
class StudyBar {
 public:
  StudyBar(const std::string& study, std::int64_t runs, bool quiet);

  // Measures progress by these estimates from now on. Runs of a cluster overlap: there the share that is done
  // follows the estimates, and the time left is extrapolated.
  void begin(study::TimeLeft left, study::Where where);
  void finished(const record::RunRecord& run, const std::string& note);

 private:
  void draw(const std::string& note);

  double runs_, finished_ = 0;
  std::optional<study::TimeLeft> left_;
  bool one_by_one_ = false;
  ProgressBar bar_;
};

// Wraps and owns another launcher, and shows its jobs before they begin.
class ShownLauncher : public study::Launcher {
 public:
  using Show = std::function<void(std::span<const study::Job>)>;
  ShownLauncher(std::unique_ptr<study::Launcher> launcher, Show show)
      : launcher_(std::move(launcher)), show_(std::move(show)) {}

  void settle() override { launcher_->settle(); }
  void run(std::span<const study::Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  std::unique_ptr<study::Launcher> launcher_;
  Show show_;
};

}  // namespace trainyard::cli
