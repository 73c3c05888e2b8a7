#pragma once

#include <functional>
#include <string>

namespace trainyard::ps {

// Lines about those who were turned away: some a minute, then only how many there were. Who knocks often must
// not fill a disk.
class RefusalLog {
 public:
  using Log = std::function<void(const std::string&)>;
  static constexpr int kMostLines = 10;
  static constexpr double kSeconds = 60;

  explicit RefusalLog(Log log) : log_(std::move(log)) {}

  void add(const std::string& who, const std::string& why, double now);
  // Says how many were not said, when it is time to.
  void look(double now);

 private:
  Log log_;
  double since_ = 0;  // of the lines below
  int lines_ = 0, unsaid_ = 0;
};

}  // namespace trainyard::ps
