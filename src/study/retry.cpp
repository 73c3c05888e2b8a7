#include "study/retry.h"

#include <array>
#include <sstream>

#include <fmt/core.h>

#include "base/error.h"
#include "record/attempts.h"

namespace trainyard::study {
namespace {

using record::Status;

constexpr std::array kOnRequest{Status::failed, Status::nan,     Status::diverged,
                                Status::oom,    Status::timeout, Status::refused};
constexpr std::array kAlways{Status::crash, Status::cancelled, Status::interrupted};

std::string allowed_names() {
  std::string names;
  for (const Status status : kOnRequest) names += fmt::format("{}, ", name(status));
  return names + "all";
}

}  // namespace

RetryPolicy parse_retry_policy(const std::string& text) {
  RetryPolicy policy;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto status = record::find_status(word);
    if (word == "all") {
      policy.statuses.insert(kOnRequest.begin(), kOnRequest.end());
    } else if (status && *status != Status::ok) {
      policy.statuses.insert(*status);
    } else {
      fail(ErrorKind::usage, "retry '{}': not one of {}", word, allowed_names());
    }
  }
  return policy;
}

bool runs_again(const record::RunRecord& run, const RetryPolicy& policy) {
  for (const Status status : kAlways)
    if (run.status == status) return true;
  return policy.statuses.contains(run.status);
}

bool repeats_disturbed(const RunState& state, const RetryPolicy& policy) {
  return state.done() && record::is_disturbed(*state.result) && state.disturbed <= policy.disturbed;
}

}  // namespace trainyard::study
