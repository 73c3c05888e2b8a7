#include "report/test_study.h"

#include <random>

namespace trainyard::report {
namespace {

using record::RunRecord;

double images_per_second(const record::Settings& settings, double run_effect) {
  const auto number = [&](const char* name, double otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : record::number_or(found->second, otherwise);
  };
  const double batch = number("batch", 64), threads = number("threads", 1), devices = number("devices", 1);
  double letters = 0;  // words differ in speed, too
  for (const auto& [name, value] : settings)
    if (std::holds_alternative<std::string>(value))
      letters += static_cast<double>(record::to_text(value).size());
  return 900 * (1 + letters / 20) * batch / (batch + 40) * std::pow(threads, 0.85) * std::pow(devices, 0.93) *
         run_effect;
}

void add_steps(RunRecord& run, double speed, std::mt19937& random) {
  std::normal_distribution<double> noise(0, 0.02);
  const double step = run.images_per_step / speed;
  for (int i = 0; i < 5; ++i) run.warmup_step_seconds.push_back(step * (3 - 0.4 * i));
  double drift = 0;
  for (std::int64_t i = 0; i < 60; ++i) {
    drift = 0.6 * drift + noise(random);
    const bool outlier = i == 30 || i == 47;
    run.step_seconds.push_back(
        step * (1 + drift + (i < 8 ? 0.5 / (1 + static_cast<double>(i)) : 0) + (outlier ? 0.8 : 0)));
    if (outlier) run.statistics.outliers.push_back(i);
  }
  const std::vector<double> steady(run.step_seconds.begin() + 8, run.step_seconds.end());
  const stats::Summary summary = stats::summarise(steady);
  run.statistics.steps = std::ssize(run.step_seconds);
  run.statistics.unsteady_steps = 8;
  run.statistics.mean = summary.mean;
  run.statistics.median = summary.median;
  run.images_per_second = run.images_per_step / summary.mean;
  run.statistics.legacy.mean_speed = *run.images_per_second;
  run.statistics.legacy.speed_jitter = 0.017 * *run.images_per_second;
}

void add_facts(RunRecord& run) {
  const bool second = run.node == "node-b";
  run.provenance = {{"cpu", "model", std::string(second ? "AMD EPYC 7543" : "AMD EPYC 7763")},
                    {"cpu", "cores_allowed", std::int64_t{8}},
                    {"machine", "memory_bytes", std::int64_t{68'719'476'736}},
                    {"machine", "load_average", 0.2 + 0.01 * run.started_seconds / 1e9 + 0.1 * run.replicate},
                    {"machine", "kernel", std::string("6.1.0-18-amd64")},
                    {"software", "compiler", std::string("g++ 12.2.0")},
                    {"software", "trainyard", std::string("0.1.0 (5ad1a78)")}};
}

RunRecord make_run(const std::string& study, const store::PlannedRun& planned, std::mt19937& random) {
  std::normal_distribution<double> between_runs(1, 0.03);
  RunRecord run;
  run.study = study;
  run.cell = planned.cell;
  run.replicate = planned.replicate;
  run.id = fmt::format("{}-r{}-a1", planned.cell, planned.replicate);
  run.command = "bench";
  run.asked = planned.settings;
  run.node = planned.replicate % 2 == 1 ? "node-a" : "node-b";
  run.started_seconds = 1'780'000'000 + 20.0 * static_cast<double>(planned.position);
  run.wall_seconds = 12;
  const auto setting = [&](const char* name, double otherwise) {
    const auto found = planned.settings.find(name);
    return found == planned.settings.end() ? otherwise : record::number_or(found->second, otherwise);
  };
  run.images_per_step = setting("batch", 64);
  add_steps(run, images_per_second(planned.settings, between_runs(random)), random);
  run.figures["cores_used"] = setting("threads", 1) * 0.97;
  run.figures["cpu_seconds"] = run.figures["cores_used"] * run.wall_seconds;
  if (planned.settings.contains("staging")) run.figures["staging_seconds"] = 0.4 + 0.05 * run.replicate;
  add_facts(run);
  return run;
}

}  // namespace

RunRecord& TestStudy::run(std::size_t cell, int replicate) {
  const std::string& id = planned.at(cell * static_cast<std::size_t>(replicates)).cell;
  return *std::find_if(runs.begin(), runs.end(),
                       [&](const RunRecord& run) { return run.cell == id && run.replicate == replicate; });
}

TestStudy make_test_study(const std::string& name, const TestAxes& axes, int replicates) {
  TestStudy study{name, {}, {}, replicates};
  std::mt19937 random(7);
  std::size_t cells = 1;
  for (const auto& [axis, values] : axes) cells *= values.size();
  for (std::size_t cell = 0; cell < cells; ++cell) {
    record::Settings settings{{"optimizer", std::string("adam")}};
    std::size_t rest = cell;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      settings[axis->first] = axis->second[rest % axis->second.size()];
      rest /= axis->second.size();
    }
    for (int replicate = 1; replicate <= replicates; ++replicate)
      study.planned.push_back({std::ssize(study.planned), fmt::format("c{:03}", cell), replicate, settings});
  }
  for (const store::PlannedRun& planned : study.planned)
    study.runs.push_back(make_run(name, planned, random));
  return study;
}

void describe_network(RunRecord& run) {
  const auto number = [&](const char* name) { return record::number_or(run.asked.at(name), 0); };
  const double layers = number("layers"), width = number("width"), batch = number("batch");
  const double parameters = layers * width * width, flops = 6 * batch * parameters;
  const double bytes = 4 * (10 * parameters + 8 * layers * batch * width);
  run.figures["parameters"] = parameters;
  run.figures["flops_per_step"] = flops;
  run.figures["bytes_per_step"] = bytes;
  run.figures["flops_per_second"] = flops / run.statistics.median;
  run.figures["peak_flops_per_second"] = 1e13;
  run.figures["peak_bytes_per_second"] = 1e11;
  const double half = run.statistics.median / 2;
  run.details["ops"] = fmt::format(
      R"({{"by_category":[{{"category":"gemm","seconds":{0},"share":0.5,"flops":{1},"bytes":{2}}},)"
      R"({{"category":"elementwise","seconds":{0},"share":0.5,"flops":{3},"bytes":{2}}}]}})",
      half, flops, bytes / 2, flops / 100);
}

void add_profile(record::RunRecord& run) {
  run.details["profile"] = R"({
    "signals": [
      {"signal": "cpu_cores", "burst_times": [[0.5, 1], [1.5, 2]]},
      {"signal": "gpu0_busy_fraction", "burst_times": [[0.5, 2]]},
      {"signal": "processes"}],
    "timeline": {
      "seconds": [0, 0.5, 1, 1.5, 2],
      "signals": {"cpu_cores": [0.1, 1.9, 0.1, 1.8], "gpu0_busy_fraction": [0, 0.9, 0.95, 0.9], "processes": [1, 2, 2, 2]}}})";
}

void fail_run(RunRecord& run, record::Status status, const std::string& reason) {
  run.status = status;
  run.reason = reason;
  run.exit_code = status == record::Status::crash ? 139 : 1;
  run.step_seconds.clear();
  run.warmup_step_seconds.clear();
  run.statistics = {};
  run.images_per_second.reset();
}

void lose_run(TestStudy& study, std::size_t cell, int replicate) {
  const std::string id = study.run(cell, replicate).id;
  std::erase_if(study.runs, [&](const RunRecord& run) { return run.id == id; });
}

}  // namespace trainyard::report
