#include "backend/cuda/tuning.h"

#include <algorithm>

#include <fmt/core.h>

#include "backend/measure.h"
#include "base/error.h"
#include "base/units.h"

namespace trainyard::backend::cuda {

std::string Tuned::to_string() const {
  return seconds > 0 ? fmt::format("{}, {}", name, format_seconds(seconds)) : name + ", not measured";
}

Tuning::Tuning(std::filesystem::path file) : file_(std::move(file)) {}

const Tuned* Tuning::find(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

void Tuning::put(const std::string& key, Tuned tuned) { known_[key] = std::move(tuned); }

Contest find_fastest(Device& device, const std::vector<Way>& ways,
                     const std::function<void(std::size_t)>& launch) {
  struct Result {
    std::size_t way;
    double seconds;
  };
  std::vector<Result> results;
  Contest contest;
  double best = kNeverHopeless;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    try {
      const double seconds = measure_seconds(
          device, [&] { launch(i); }, hopeless_against(best));
      results.push_back({i, seconds});
      best = std::min(best, seconds);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device) throw;
      contest.tuned.slower.push_back({ways[i].name, error.what()});
    }
  }
  if (results.empty()) return contest;
  std::stable_sort(results.begin(), results.end(),
                   [](const Result& a, const Result& b) { return a.seconds < b.seconds; });
  const Way& fastest = ways[results.front().way];
  contest.winner = static_cast<int>(results.front().way);
  std::vector<Alternative> slower;
  for (std::size_t i = 1; i < results.size(); ++i)
    slower.push_back(
        {ways[results[i].way].name, fmt::format("slower: {}", format_seconds(results[i].seconds))});
  slower.insert(slower.end(), contest.tuned.slower.begin(), contest.tuned.slower.end());
  contest.tuned = {fastest.name, fastest.choice, best, std::move(slower)};
  return contest;
}

}  // namespace trainyard::backend::cuda
