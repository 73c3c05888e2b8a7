#include "cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "base/text.h"

namespace trainyard::cli {

namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 24;

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

LiveLine::LiveLine(bool quiet, Cursor cursor)
    : visible_(!quiet && isatty(STDERR_FILENO) != 0), cursor_(cursor) {}

void print_note(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

LiveLine::~LiveLine() {
  if (visible_ && drawn_seconds_ > 0) std::fputs("\r\033[K", stderr);
}

bool LiveLine::due() const { return visible_ && now_seconds() - drawn_seconds_ >= kRedrawSeconds; }

void LiveLine::draw(std::string line) {
  if (!due()) return;
  drawn_seconds_ = now_seconds();
  if (static_cast<int>(line.size()) >= terminal_columns()) line.resize(terminal_columns() - 1);
  print_note(fmt::format("\r\033[K{}{}", line, cursor_ == Cursor::at_begin ? "\r" : ""));
  std::fflush(stderr);
}

ProgressBar::ProgressBar(std::string label, std::int64_t total, bool quiet)
    : label_(std::move(label)),
      total_(std::max<std::int64_t>(total, 1)),
      line_(quiet),
      started_seconds_(now_seconds()) {}

void ProgressBar::update(std::int64_t done, const std::string& note, std::optional<double> left_seconds) {
  if (!due()) return;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total_), 0.0, 1.0);
  const int filled = static_cast<int>(share * kBarWidth);
  const double elapsed = now_seconds() - started_seconds_;
  std::string line = fmt::format("{} [{}{}] {:3.0f} %", label_, std::string(filled, '#'),
                                 std::string(kBarWidth - filled, '.'), share * 100);
  if (!left_seconds && share > 0.01) left_seconds = elapsed / share - elapsed;
  if (left_seconds) line += fmt::format("  {} left", format_seconds(*left_seconds));
  // Last, because a long one does not fit into a line of 80 columns.
  if (!note.empty()) line += "  " + note;
  line_.draw(std::move(line));
}

namespace {

class TerminalProgress final : public ProgressListener {
 public:
  void begin(const std::string& label, std::int64_t total) override { bar_.emplace(label, total, false); }
  bool due() const override { return bar_ && bar_->due(); }
  void update(std::int64_t done, const std::string& note) override {
    if (bar_) bar_->update(done, note);
  }
  void end() override { bar_.reset(); }
  void note(const std::string& line) override { print_note(line + "\n"); }
  void warn(const std::string& line) override { print_note("trainyard: " + line + "\n"); }

 private:
  std::optional<ProgressBar> bar_;
};

}  // namespace

ProgressListener* terminal_progress(bool quiet) {
  static TerminalProgress progress;
  return quiet ? nullptr : &progress;
}

}  // namespace trainyard::cli
