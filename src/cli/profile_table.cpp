#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "base/units.h"
#include "cli/profile_report.h"
#include "cli/text_table.h"

namespace trainyard::cli {
namespace {

// With the unit that the signal's name ends with.
std::string signal_text(const std::string& name, double value) {
  if (name.ends_with("_fraction")) return fmt::format("{:.1f} %", 100 * value);
  if (name.ends_with("_bytes")) return format_bytes(std::llround(value));
  if (name.ends_with("_bytes_per_second")) return format_bytes(std::llround(value)) + "/s";
  if (name.ends_with("_watts")) return fmt::format("{:.1f} W", value);
  if (name.ends_with("_mhz")) return fmt::format("{:.0f} MHz", value);
  return fmt::format("{:.2f}", value);
}

std::string words_of_signal(std::string name) {
  for (const auto& [unit, word] : {std::pair("_fraction", ""),
                                   {"_bytes_per_second", ""},
                                   {"_bytes", ""},
                                   {"_watts", ""},
                                   {"_mhz", "_clock"}})
    if (name.ends_with(unit)) {
      name.replace(name.size() - std::string(unit).size(), std::string::npos, word);
      break;
    }
  for (char& letter : name)
    if (letter == '_') letter = ' ';
  return name;
}

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

void print_legacy(const std::vector<analyze::LegacyShares>& legacy) {
  TextTable table({"legacy column", "burst", "idle", "peak"});
  for (const analyze::LegacyShares& shares : legacy)
    table.add({shares.column, fmt::format("{:.6f}", shares.burst), fmt::format("{:.6f}", shares.idle),
               fmt::format("{:.6f}", shares.peak)});
  fmt::print("\n{}", table.text());
}

}  // namespace

void print_reduced(const ReducedTrace& reduced) {
  TextTable table({"signal", "mean", "p95", "max", "in bursts", "burst", "idle", "bursts", "mean burst",
                   "mean idle", "period", "above 90 %"});
  for (std::size_t i = 0; i < reduced.signals.size(); ++i) {
    const analyze::BurstProfile& profile = reduced.profiles[i];
    const std::string& name = reduced.signals[i].name;
    if (profile.most == 0) continue;
    const auto value = [&](double of) { return signal_text(name, of); };
    const bool bursts = profile.has_bursts();
    table.add({words_of_signal(name), value(profile.mean), value(profile.p95), value(profile.most),
               bursts ? share_text(profile.burst_share()) : "-", bursts ? value(profile.burst.mean) : "-",
               bursts ? value(profile.idle.mean) : "-", bursts ? fmt::format("{}", profile.burst.count) : "-",
               bursts ? format_seconds(profile.burst.mean_seconds) : "-",
               bursts ? format_seconds(profile.idle.mean_seconds) : "-",
               profile.period ? format_seconds(profile.period->seconds) : "-",
               profile.peak_share ? share_text(*profile.peak_share) : "-"});
  }
  fmt::print("\n{}", table.text());
  if (!reduced.legacy.empty()) print_legacy(reduced.legacy);
}

void print_profile(const record::RunRecord& run, const meter::CommandProfile& profile) {
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  const auto bytes = [&](const char* name) { return format_bytes(std::llround(run.figure_or(name, 0))); };
  std::string command = record::to_text(run.asked.at("program"));
  std::replace(command.begin(), command.end(), '\n', ' ');
  row("command", command);
  row("ended", fmt::format("{}, after {}", run.reason.empty() ? "well" : run.reason,
                           format_seconds(profile.wall_seconds)));
  row("cores used", fmt::format("{:.2f} of {:g}: {} user, {} system", run.figure_or("cores_used", 0),
                                run.figure_or("cores_allowed", 0), format_seconds(profile.user_seconds),
                                format_seconds(profile.system_seconds)));
  row("peak memory",
      fmt::format("{}{}, {:.0f} process{}", bytes("peak_memory_bytes"),
                  run.figures.contains("peak_proportional_bytes")
                      ? fmt::format(" (shared pages counted once: {})", bytes("peak_proportional_bytes"))
                      : "",
                  run.figure_or("peak_processes", 0), run.figure_or("peak_processes", 0) == 1 ? "" : "es"));
  if (run.figures.contains("disk_read_bytes"))
    row("disk", fmt::format("{} read, {} written", bytes("disk_read_bytes"), bytes("disk_written_bytes")));
  if (run.figures.contains("network_sent_bytes"))
    row("network of all",
        fmt::format("{} sent, {} received, of each {} by loopback", bytes("network_sent_bytes"),
                    bytes("network_received_bytes"), bytes("loopback_bytes")));
  if (run.figures.contains("gpu_energy_joules"))
    row("energy of GPUs", fmt::format("{:.1f} J", run.figure_or("gpu_energy_joules", 0)));
  row("samples",
      fmt::format("{:.0f}, {} missed; measuring took {:.2f} % of a core ({:.2f} % /proc, {:.2f} % NVML)",
                  run.figure_or("samples", 0), profile.missed_samples,
                  100 * run.figure_or("sampler_cores", 0), 100 * run.figure_or("sampler_proc_cores", 0),
                  100 * run.figure_or("sampler_nvml_cores", 0)));
}

}  // namespace trainyard::cli
