#pragma once

#include "base/progress.h"
#include "study/cell/cost.h"
#include "study/run/run_study.h"

namespace trainyard::cli {

// Text for people on standard error, in the midst of work. What cannot be written, as to a full disk, is lost
// and ends nothing; fmt::print would throw.
void print_note(std::string_view text);

// A line on standard error that is drawn over again; silent when that is not a terminal, or when told to be
// quiet.
class LiveLine {
 public:
  // Others write there, too: the cursor waits at the line's begin, where their text replaces it.
  enum class Cursor { at_end, at_begin };
  explicit LiveLine(bool quiet, Cursor cursor = Cursor::at_end);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  bool visible() const { return visible_; }
  // Ten times a second: make the text of a line only then.
  bool due() const;
  void draw(std::string line);

 private:
  const bool visible_;
  const Cursor cursor_;
  double drawn_seconds_ = 0;
};

// A one-line bar on standard error; silent when that is not a terminal, or when told to be quiet.
// Redraws at most ten times a second, so it may be called in every step.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::int64_t total, bool quiet);

  // Returns true when the next update will be drawn: build a costly `note` only then.
  bool due() const { return line_.due(); }
  // Without `left_seconds` the time left is what the time so far and the share that is done make likely.
  void update(std::int64_t done, const std::string& note = "",
              std::optional<double> left_seconds = std::nullopt);

 private:
  std::string label_;
  std::int64_t total_;
  LiveLine line_;
  double started_seconds_;
};

// Draws the progress of the library as bars and lines on standard error; null where `quiet`. It is the one
// listener of this process.
ProgressListener* terminal_progress(bool quiet);

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
