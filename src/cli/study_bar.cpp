#include "cli/study_bar.h"

namespace trainyard::cli {

namespace {

// A bar counts in whole numbers, and shares are none.
constexpr std::int64_t kWholeStudy = 1'000'000;

}  // namespace

StudyBar::StudyBar(const std::string& study, std::int64_t runs, bool quiet)
    : runs_(static_cast<double>(runs)), bar_("study " + study, kWholeStudy, quiet) {}

void StudyBar::begin(study::TimeLeft left, study::Where where) {
  if (!left.known()) return;
  left_ = std::move(left);
  one_by_one_ = where == study::Where::this_machine;
  draw("");
}

void StudyBar::finished(const record::RunRecord& run, const std::string& note) {
  ++finished_;
  if (left_) left_->finished(run);
  draw(note);
}

void StudyBar::draw(const std::string& note) {
  const double share = left_ ? left_->share() : finished_ / runs_;
  bar_.update(std::llround(share * static_cast<double>(kWholeStudy)), note,
              left_ && one_by_one_ ? std::optional(left_->seconds()) : std::nullopt);
}

void ShownLauncher::run(std::span<const study::Job> jobs, const Finished& finished, const Stop& stop) {
  show_(jobs);
  launcher_->run(jobs, finished, stop);
}

}  // namespace trainyard::cli
