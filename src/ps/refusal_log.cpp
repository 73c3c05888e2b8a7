#include "ps/refusal_log.h"

#include <fmt/core.h>

namespace trainyard::ps {

void RefusalLog::add(const std::string& who, const std::string& why, double now) {
  look(now);
  if (lines_ == 0) since_ = now;
  if (lines_ == kMostLines) {
    ++unsaid_;
    return;
  }
  ++lines_;
  log_(fmt::format("refused {}: {}", who, why));
}

void RefusalLog::look(double now) {
  if (lines_ == 0 || now - since_ < kSeconds) return;
  if (unsaid_ > 0) log_(fmt::format("refused {} more in {:.0f} s", unsaid_, now - since_));
  lines_ = unsaid_ = 0;
}

}  // namespace trainyard::ps
