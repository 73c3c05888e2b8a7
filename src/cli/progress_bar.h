#pragma once

#include "base/progress.h"

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

}  // namespace trainyard::cli
