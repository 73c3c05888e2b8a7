#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

// A one-line bar on standard error; silent when that is not a terminal, or when told to be quiet.
// Redraws at most ten times a second, so it may be called in every step.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::int64_t total, bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // True when the next update will be drawn: build a costly `note` only then.
  bool due() const;
  void update(std::int64_t done, const std::string& note = "");

 private:
  std::string label_;
  std::int64_t total_;
  bool visible_;
  double started_seconds_;
  double drawn_seconds_ = 0;
};

}  // namespace trainyard
