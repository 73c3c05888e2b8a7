#include "study/run/export.h"

#include "base/device_spec.h"
#include "record/build.h"

namespace trainyard::study {

namespace {

// Formats twelve significant digits, always with a point or an exponent.
std::string python_text(double number) {
  const std::string text = fmt::format("{:.12g}", number);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string asked(const record::RunRecord& run, const char* name, const char* otherwise) {
  const auto found = run.asked.find(name);
  return found == run.asked.end() ? otherwise : record::to_text(found->second);
}

std::string staged_from(const record::RunRecord& run) {
  const std::string staging = asked(run, "staging", "in-place");
  return staging == "local" ? "$LOCAL" : staging == "memory" ? "$MEMORY" : "$SCRATCH";
}

}  // namespace

std::string legacy_csv_head() {
  return ",mean_speed,Mean_Time_Per_Step,speed_uncertainty,Speed_Jitter,gpu_type,num_gpu,staged_from";
}

std::string legacy_csv_row(std::size_t index, const record::RunRecord& run) {
  const record::LegacyMetrics& legacy = run.statistics.legacy;
  std::string numbers = ",,,";
  if (legacy.mean_seconds > 0)
    numbers = fmt::format("{},{},{},{}", python_text(legacy.mean_speed), python_text(legacy.mean_seconds),
                          python_text(legacy.speed_uncertainty), python_text(legacy.speed_jitter));
  const bool on_gpu = names_gpu(asked(run, "device", "cpu"));
  const std::string devices = on_gpu ? asked(run, "devices", "1") : "0";
  return fmt::format("{},{},{},{},{}", index, numbers, asked(run, "gpu_type", ""),
                     asked(run, "gpus", devices.c_str()), staged_from(run));
}

namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

struct Column {
  const char* name;
  std::string (*text)(const record::RunRecord& run);
};

template <typename Get>
std::string if_timed(const record::RunRecord& run, const Get& get) {
  return run.statistics.steps > 0 ? number(get(run.statistics)) : "";
}

std::string figure(const record::RunRecord& run, record::NumberName name) {
  return number(run.figure_or(name, std::nan("")));
}

using record::RunRecord;
using record::StepStatistics;

constexpr Column kExportColumns[] = {
    {"run", [](const RunRecord& run) { return run.id; }},
    {"study", [](const RunRecord& run) { return run.study; }},
    {"cell", [](const RunRecord& run) { return run.cell; }},
    {"replicate", [](const RunRecord& run) { return fmt::format("{}", run.replicate); }},
    {"attempt", [](const RunRecord& run) { return fmt::format("{}", run.attempt); }},
    {"status", [](const RunRecord& run) { return std::string(name(run.status)); }},
    {"reason", [](const RunRecord& run) { return run.reason; }},
    {"node", [](const RunRecord& run) { return run.node; }},
    {"build", [](const RunRecord& run) { return record::build_of(run); }},
    {"started_seconds", [](const RunRecord& run) { return number(run.started_seconds); }},
    {"wall_seconds", [](const RunRecord& run) { return number(run.wall_seconds); }},
    {"images_per_second",
     [](const RunRecord& run) { return run.images_per_second ? number(*run.images_per_second) : ""; }},
    {"images_per_step", [](const RunRecord& run) { return number(run.images_per_step); }},
    {"steps", [](const RunRecord& run) { return fmt::format("{}", run.statistics.steps); }},
    {"unsteady_steps", [](const RunRecord& run) { return fmt::format("{}", run.statistics.unsteady_steps); }},
    {"median_step_seconds",
     [](const RunRecord& run) { return if_timed(run, [](const StepStatistics& s) { return s.median; }); }},
    {"median_low_seconds",
     [](const RunRecord& run) {
       return if_timed(run, [](const StepStatistics& s) { return s.median_interval.low; });
     }},
    {"median_high_seconds",
     [](const RunRecord& run) {
       return if_timed(run, [](const StepStatistics& s) { return s.median_interval.high; });
     }},
    {"iqr_seconds",
     [](const RunRecord& run) {
       return if_timed(run, [](const StepStatistics& s) { return s.p75 - s.p25; });
     }},
    {"cores_used", [](const RunRecord& run) { return figure(run, "cores_used"); }},
    {"peak_memory_bytes", [](const RunRecord& run) { return figure(run, "peak_memory_bytes"); }},
    {"staging_seconds", [](const RunRecord& run) { return figure(run, "staging_seconds"); }},
    {"test_accuracy", [](const RunRecord& run) { return figure(run, "test_accuracy"); }},
    {"warnings", [](const RunRecord& run) { return fmt::format("{}", run.warnings.size()); }},
};

}  // namespace

std::string csv_word(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string to_csv(const std::vector<record::RunRecord>& runs) {
  std::set<std::string> settings;
  for (const record::RunRecord& run : runs)
    for (const auto& [name, value] : run.asked) settings.insert(name);
  std::string text = legacy_csv_head();
  for (const Column& column : kExportColumns) text += fmt::format(",{}", column.name);
  for (const std::string& name : settings) text += fmt::format(",{}", csv_word("asked_" + name));
  text += "\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += legacy_csv_row(i, runs[i]);
    for (const Column& column : kExportColumns) text += fmt::format(",{}", csv_word(column.text(runs[i])));
    for (const std::string& name : settings) {
      const auto found = runs[i].asked.find(name);
      text += ',';
      if (found != runs[i].asked.end()) text += csv_word(record::to_text(found->second));
    }
    text += "\n";
  }
  return text;
}

std::string to_json_lines(const std::vector<record::RunRecord>& runs) {
  std::string text;
  for (const record::RunRecord& run : runs) text += record::to_json(run) + "\n";
  return text;
}

}  // namespace trainyard::study
