#include "cli/run_report.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "meter/memory.h"
#include "record/statistics.h"

namespace trainyard::cli {

using Json = nlohmann::ordered_json;

double measure_peak(const backend::Backend& backend) {
  const auto peaks = backend.gemm_peaks({"f32"}, 0.5);
  return peaks.empty() ? 0 : peaks.front().flops_per_second;
}

Json run_report(const train::Session& session, const RunOptions& options,
                std::span<const double> step_seconds, std::int64_t warmup_steps,
                double peak_flops_per_second) {
  const record::Summary summary = record::summarise(step_seconds);
  const auto flops = static_cast<double>(session.flops_per_step());
  return {{"network", options.network},
          {"batch", options.batch},
          {"backend", session.backend().name()},
          {"precision", options.precision},
          {"threads", session.options().threads},
          {"optimizer", options.optimizer},
          {"parameters", session.parameters()},
          {"flops_per_step", session.flops_per_step()},
          {"steps", step_seconds.size()},
          {"warmup_steps", warmup_steps},
          {"step_seconds",
           {{"mean", summary.mean}, {"median", summary.median}, {"min", summary.min}, {"p95", summary.p95}}},
          {"images_per_second", static_cast<double>(options.batch) / summary.median},
          {"flops_per_second", flops / summary.median},
          {"peak_flops_per_second", peak_flops_per_second},
          {"peak_fraction",
           peak_flops_per_second > 0 ? Json(flops / summary.median / peak_flops_per_second) : Json(nullptr)},
          {"peak_memory_bytes", meter::peak_resident_bytes()}};
}

void print_report(const Json& report) {
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  const auto& seconds = report["step_seconds"];
  row("network", fmt::format("{}, batch {}, {}", report["network"].get<std::string>(),
                             report["batch"].get<std::int64_t>(), report["optimizer"].get<std::string>()));
  row("runs on", fmt::format("{} {}, {} threads", report["backend"].get<std::string>(),
                             report["precision"].get<std::string>(), report["threads"].get<int>()));
  row("parameters", format_count(report["parameters"].get<double>()));
  row("flops per step", format_flops(report["flops_per_step"].get<double>()));
  row("step",
      fmt::format("median {}, mean {}, min {}, p95 {} over {} steps",
                  format_seconds(seconds["median"].get<double>()),
                  format_seconds(seconds["mean"].get<double>()), format_seconds(seconds["min"].get<double>()),
                  format_seconds(seconds["p95"].get<double>()), report["steps"].get<std::int64_t>()));
  if (const std::string stop = report.value("stopped_by", "steps"); stop != "steps") row("stopped by", stop);
  row("images per second", fmt::format("{:.0f}", report["images_per_second"].get<double>()));
  std::string rate = format_rate(report["flops_per_second"].get<double>());
  if (!report["peak_fraction"].is_null())
    rate += fmt::format(" = {:.0f} % of the measured {}", 100 * report["peak_fraction"].get<double>(),
                        format_rate(report["peak_flops_per_second"].get<double>()));
  row("rate", rate);
  row("peak memory", format_bytes(report["peak_memory_bytes"].get<std::int64_t>()));
}

}  // namespace trainyard::cli
