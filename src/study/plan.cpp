#include "study/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/philox.h"

namespace trainyard::study {
namespace {

constexpr std::int64_t kMostRuns = 100'000;

bool matches(const Exclusion& exclusion, const record::Settings& settings) {
  return std::all_of(exclusion.matches.begin(), exclusion.matches.end(), [&](const auto& match) {
    const auto found = settings.find(match.first);
    return found != settings.end() &&
           std::find(match.second.begin(), match.second.end(), found->second) != match.second.end();
  });
}

// The text is canonical: settings are sorted by name. The study's name, limits and order decide nothing about
// what a run does, so they are not in it.
std::string hash_of(const Spec& spec, const record::Settings& settings) {
  std::string text = spec.run + "\n" + record::to_json(settings);
  for (const std::string& word : spec.program) text += "\n" + word;
  for (const auto& [name, value] : spec.environment) text += "\n" + name + "=" + value;
  return content_hash(text);
}

// Fisher-Yates with counter-based draws.
template <typename Iterator>
void shuffle(Iterator begin, Iterator end, std::uint64_t seed, std::uint64_t stream) {
  const Philox draws(seed, stream);
  for (auto left = static_cast<std::uint64_t>(end - begin); left > 1; --left)
    std::iter_swap(begin + static_cast<std::ptrdiff_t>(left - 1),
                   begin + static_cast<std::ptrdiff_t>(draws.word(left) % left));
}

std::vector<record::Settings> all_points(const Spec& spec) {
  std::vector<record::Settings> points{spec.settings};
  for (const Axis& axis : spec.axes) {
    if (static_cast<std::int64_t>(points.size() * axis.values.size()) * spec.replicates > kMostRuns)
      fail(ErrorKind::config, "{}: more than {} runs", spec.file, kMostRuns);
    std::vector<record::Settings> longer;
    for (const record::Settings& point : points)
      for (const record::Value& value : axis.values) {
        longer.push_back(point);
        longer.back()[axis.name] = value;
      }
    points = std::move(longer);
  }
  return points;
}

std::vector<store::PlannedRun> ordered_runs(const Spec& spec, const std::vector<Cell>& cells) {
  std::vector<store::PlannedRun> runs;
  if (spec.order == Order::interleaved) {
    for (int replicate = 1; replicate <= spec.replicates; ++replicate) {
      for (const Cell& cell : cells) runs.push_back({0, cell.hash, replicate, cell.settings});
      shuffle(runs.end() - static_cast<std::ptrdiff_t>(cells.size()), runs.end(), spec.seed,
              static_cast<std::uint64_t>(replicate));
    }
  } else {
    for (const Cell& cell : cells)
      for (int replicate = 1; replicate <= spec.replicates; ++replicate)
        runs.push_back({0, cell.hash, replicate, cell.settings});
    if (spec.order == Order::shuffled) shuffle(runs.begin(), runs.end(), spec.seed, 0);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].position = static_cast<std::int64_t>(i);
  return runs;
}

}  // namespace

std::string content_hash(const std::string& text) {
  return fmt::format("{:016x}", mix_streams(stream_of(text.c_str()), text.size()));
}

Plan make_plan(const Spec& spec, const CellCheck& check) {
  Plan plan;
  std::vector<std::int64_t> used(spec.exclusions.size(), 0);
  for (const record::Settings& settings : all_points(spec)) {
    bool excluded = false;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (matches(spec.exclusions[i], settings)) {
        ++used[i];
        excluded = true;
      }
    if (excluded)
      ++plan.excluded;
    else
      plan.cells.push_back({hash_of(spec, settings), settings, check(settings)});
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i] == 0)
      plan.remarks.push_back(
          fmt::format("{}:{}: this exclusion matches no cell", spec.file, spec.exclusions[i].line));
  if (plan.cells.empty())
    fail(ErrorKind::config, "{}: no cell is left: all {} are excluded", spec.file, plan.excluded);
  plan.runs = ordered_runs(spec, plan.cells);
  return plan;
}

}  // namespace trainyard::study
