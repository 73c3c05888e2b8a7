#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/progress.h"
#include "cli/study_cost.h"
#include "study/launcher.h"

namespace trainyard::cli {

// How far a study is, as a bar on a terminal: by the estimates of its runs, or where there are none by their
// number.
class StudyBar {
 public:
  StudyBar(const std::string& study, std::int64_t runs, bool quiet);

  // From now on by these estimates. Runs of a cluster are beside each other: there the share that is done
  // follows them, and the time left is extrapolated.
  void begin(TimeLeft left, Where where);
  void finished(const record::RunRecord& run, const std::string& note);

 private:
  void draw(const std::string& note);

  double runs_, finished_ = 0;
  std::optional<TimeLeft> left_;
  bool one_by_one_ = false;
  ProgressBar bar_;
};

// Another launcher, whose jobs are shown before they begin.
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
