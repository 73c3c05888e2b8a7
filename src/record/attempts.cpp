#include "record/attempts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "record/build.h"

namespace trainyard::record {
namespace {

constexpr std::array<std::string_view, 6> kDisturbances = {"load",     "steal",  "frequency",
                                                           "throttle", "memory", "clock"};

int rank(const RunRecord& run) {
  if (run.status != Status::ok) return 0;
  return is_disturbed(run) ? 1 : 2;
}

}  // namespace

bool is_disturbance(const Warning& warning) {
  return std::find(kDisturbances.begin(), kDisturbances.end(), warning.kind) != kDisturbances.end();
}

bool is_disturbed(const RunRecord& run) {
  return std::any_of(run.warnings.begin(), run.warnings.end(), is_disturbance);
}

bool speaks_instead(const RunRecord& later, const RunRecord& earlier) {
  const int rank_of_later = rank(later), rank_of_earlier = rank(earlier);
  return rank_of_later > rank_of_earlier || (rank_of_later == 0 && rank_of_earlier == 0);
}

std::vector<RunRecord> that_speak(std::vector<RunRecord> runs) {
  using Key = std::tuple<std::string, int, std::string>;  // cell, replicate, build
  const auto key_of = [](const RunRecord& run) { return Key(run.cell, run.replicate, build_of(run)); };
  const auto attempt_before = [](const RunRecord* a, const RunRecord* b) { return a->attempt < b->attempt; };
  std::vector<const RunRecord*> in_order;
  for (const RunRecord& run : runs)
    if (!run.cell.empty()) in_order.push_back(&run);
  std::stable_sort(in_order.begin(), in_order.end(), attempt_before);
  std::map<Key, const RunRecord*> speakers;
  for (const RunRecord* run : in_order) {
    const auto [speaker, is_new] = speakers.emplace(key_of(*run), run);
    if (!is_new && speaks_instead(*run, *speaker->second)) speaker->second = run;
  }
  std::vector<RunRecord> kept;
  for (RunRecord& run : runs)
    if (run.cell.empty() || speakers.at(key_of(run)) == &run) kept.push_back(run);
  return kept;
}

}  // namespace trainyard::record
