#include "analyze/ensemble.h"

#include <tuple>

#include "base/json.h"

namespace trainyard::analyze {
namespace {

std::string text_of(const record::RunRecord& run, const char* name) {
  const auto found = run.asked.find(name);
  return found == run.asked.end() ? "" : record::to_text(found->second);
}

int integer_of(const record::RunRecord& run, const char* name) {
  const auto found = run.asked.find(name);
  if (found == run.asked.end()) return 0;
  const auto* number = std::get_if<std::int64_t>(&found->second);
  return number == nullptr ? 0 : static_cast<int>(*number);
}

double maker_seconds(const Json& row) {
  const double all = row.value("process_user_seconds", 0.0) + row.value("process_system_seconds", 0.0);
  if (row.value("member", "") == "preprocessor") return all;
  double seconds = 0;
  for (const Json& thread : row.value("threads", Json::array()))
    if (thread.value("name", "") == "maker")
      seconds += thread.value("user_seconds", 0.0) + thread.value("system_seconds", 0.0);
  return std::min(seconds, all);
}

EnsembleRun to_run(const record::RunRecord& record) {
  EnsembleRun run;
  run.id = record.id;
  run.design = text_of(record, "design");
  run.members = integer_of(record, "members");
  run.preprocessors = integer_of(record, "preprocessors");
  run.cores = static_cast<int>(record.figure_or("cores_allowed", 0));
  run.images_per_second = record.images_per_second.value_or(0);
  run.start = record.started_seconds;
  run.end = record.started_seconds + record.wall_seconds;
  run.user_seconds = record.figure_or("cpu_user_seconds", 0);
  run.cpu_seconds = record.figure_or("cpu_seconds", 0);
  run.images_consumed = record.figure_or("images_consumed", 0);
  run.images_made = record.figure_or("images_made", 0);
  run.energy_joules = record.figure_or("energy_joules", 0);
  const auto members = record.details.find("members");
  const Json rows = members == record.details.end() ? Json::array() : parse_json(members->second);
  for (const Json& row : rows) {
    run.preprocess_cpu_seconds += maker_seconds(row);
    if (row.value("member", "") == "preprocessor") continue;
    if (run.times == 0) run.model = row.value("member", "");
    run.training_seconds += row.value("seconds", 0.0);
    run.startup_seconds += row.value("startup_seconds", 0.0);
    ++run.times;
  }
  if (run.times > 0) {
    run.training_seconds /= run.times;
    run.startup_seconds /= run.times;
  }
  return run;
}

// Sets the runs of one group side by side: the value of its baseline, and that of each other run.
using Value = double (*)(const EnsembleRun&);

std::map<std::pair<int, int>, double> baseline_values(std::span<const EnsembleRun> runs, Value value) {
  std::map<std::pair<int, int>, std::pair<double, int>> sums;
  for (const EnsembleRun& run : runs) {
    if (run.design != "baseline" || !(value(run) > 0)) continue;
    auto& [sum, count] = sums[{run.members, run.cores}];
    sum += value(run);
    ++count;
  }
  std::map<std::pair<int, int>, double> means;
  for (const auto& [key, sum] : sums) means[key] = sum.first / sum.second;
  return means;
}

double cpu_an_image(const EnsembleRun& run) {
  return run.images_consumed > 0 ? run.cpu_seconds / run.images_consumed : 0;
}

double pace(const EnsembleRun& run) { return run.images_per_second; }

}  // namespace

double EnsembleRun::member_share() const {
  if (images_made <= 0 || images_consumed <= 0 || preprocess_cpu_seconds <= 0) return 0;
  const double making = preprocess_cpu_seconds / images_made,
               rest = (cpu_seconds - preprocess_cpu_seconds) / images_consumed;
  return rest / making;
}

std::vector<EnsembleRun> ensemble_runs(std::span<const record::RunRecord> records) {
  std::vector<EnsembleRun> runs;
  for (const record::RunRecord& record : records)
    if (record.command == "ensemble" && record.asked.count("design") > 0) runs.push_back(to_run(record));
  return runs;
}

double reduction_model(double members, double t) { return members * (1 + t) / (1 + members * t); }

std::vector<CpuReduction> cpu_reductions(std::span<const EnsembleRun> runs) {
  const auto baselines = baseline_values(runs, cpu_an_image);
  std::vector<CpuReduction> reductions;
  for (const EnsembleRun& run : runs) {
    const auto found = baselines.find({run.members, run.cores});
    if (run.design == "baseline" || found == baselines.end() || !(cpu_an_image(run) > 0)) continue;
    const double t = run.member_share();
    reductions.push_back(
        {run.design, run.members, found->second / cpu_an_image(run), t, reduction_model(run.members, t)});
  }
  return reductions;
}

std::vector<CoreSpeedup> core_speedups(std::span<const EnsembleRun> runs) {
  const auto baselines = baseline_values(runs, pace);
  std::vector<CoreSpeedup> speedups;
  for (const EnsembleRun& run : runs) {
    const auto found = baselines.find({run.members, run.cores});
    if (run.design == "baseline" || found == baselines.end()) continue;
    speedups.push_back({run.design, run.members, run.cores, run.images_per_second / found->second});
  }
  return speedups;
}

std::string analyze_output_csv(std::span<const EnsembleRun> runs) {
  std::string text;
  for (const EnsembleRun& run : runs)
    text += fmt::format("{},{},{},{:.1f},{},{:.1f},{},{:.1f},{},{:.0f},{:.0f},{:.1f},{:.3f},{},{}\n",
                        run.design, run.model, 1, run.training_seconds, run.times, run.startup_seconds,
                        run.cores, run.user_seconds, run.id, run.start, run.end, run.cpu_integral(),
                        run.images_per_second, run.members, run.preprocessors);
  return text;
}

std::string modify_csv(std::span<const EnsembleRun> runs) {
  std::vector<EnsembleRun> sorted(runs.begin(), runs.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const EnsembleRun& a, const EnsembleRun& b) {
    return std::tie(a.design, a.model, a.members) < std::tie(b.design, b.model, b.members);
  });
  std::string text;
  for (const EnsembleRun& run : sorted)
    text += fmt::format("{},{},{:02d},{:.1f},{:.1f}\n", run.design, run.model, run.members, run.user_seconds,
                        run.cpu_integral());
  return text;
}

std::string gen_peak_csv(std::span<const EnsembleRun> runs) {
  std::map<std::pair<std::string, int>, std::pair<double, int>> sums;
  for (const EnsembleRun& run : runs) {
    auto& [sum, count] = sums[{run.design, run.members}];
    sum += run.images_per_second;
    ++count;
  }
  std::string text;
  for (const auto& [key, sum] : sums)
    text += fmt::format("{},{},{:.3f}\n", key.first, key.second, sum.first / sum.second);
  return text;
}

}  // namespace trainyard::analyze
