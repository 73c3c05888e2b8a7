#include "study/legacy_csv.h"

#include <fmt/format.h>

namespace trainyard::study {
namespace {

// Twelve significant digits, always with a point or an exponent.
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
  const bool on_gpu = asked(run, "device", "cpu").starts_with("cuda");
  const std::string devices = on_gpu ? asked(run, "devices", "1") : "0";
  return fmt::format("{},{},{},{},{}", index, numbers, asked(run, "gpu_type", ""),
                     asked(run, "gpus", devices.c_str()), staged_from(run));
}

}  // namespace trainyard::study
