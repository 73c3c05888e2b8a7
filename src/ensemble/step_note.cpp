#include "ensemble/step_note.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "base/clock.h"
#include "base/file.h"
#include "base/threads.h"
#include "ensemble/member.h"

namespace trainyard::ensemble {

namespace {

constexpr double kNoteSeconds = 0.2;

std::filesystem::path note_file(const std::filesystem::path& results, int member) {
  return member_folder(results, member) / "progress";
}

struct StepsReached {
  std::int64_t reached = 0, asked = 0;
};

// Sums the steps of all members from their notes; a member without a note counts as it did at the last call.
StepsReached read_notes(const std::filesystem::path& results, std::vector<StepsReached>& last) {
  StepsReached sum;
  for (std::size_t i = 0; i < last.size(); ++i) {
    std::ifstream file(note_file(results, static_cast<int>(i)));
    StepsReached now;
    if (file >> now.reached >> now.asked) last[i] = now;
    sum.reached += last[i].reached;
    sum.asked += last[i].asked;
  }
  return sum;
}

}  // namespace

StepNote::StepNote(const std::filesystem::path& results, int member, std::int64_t steps)
    : path_(note_file(results, member)), steps_(steps) {
  make_folders(path_.parent_path());
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

StepNote::~StepNote() {
  if (file_ >= 0) ::close(file_);
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void StepNote::reached(std::int64_t step) {
  const double now = now_seconds();
  if (file_ < 0 || now - written_seconds_ < kNoteSeconds) return;
  written_seconds_ = now;
  // One length, so that a reader never sees the end of an older one.
  const std::string text = fmt::format("{:20} {:20}\n", step, steps_);
  [[maybe_unused]] const auto written = ::pwrite(file_, text.data(), text.size(), 0);
}

EnsembleProgress::EnsembleProgress(const std::filesystem::path& results, std::size_t members,
                                   ProgressListener* progress) {
  if (progress == nullptr) return;
  thread_ = std::jthread([results, members, progress](const std::stop_token& stop) {
    // The bar counts thousandths, because the number of steps is known only when the last member began.
    constexpr std::int64_t kWhole = 1000;
    Progress bar(progress, "ensemble", kWhole);
    std::vector<StepsReached> last(members);
    while (!sleep_unless_stopped(stop, kNoteSeconds)) {
      if (!bar.due()) continue;
      const StepsReached sum = read_notes(results, last);
      if (sum.asked > 0)
        bar.update(kWhole * sum.reached / sum.asked,
                   fmt::format("{} of {} steps, {} members", sum.reached, sum.asked, members));
    }
  });
}

}  // namespace trainyard::ensemble
