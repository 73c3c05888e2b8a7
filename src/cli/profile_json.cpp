#include "base/json.h"
#include "cli/profile.h"
#include "record/unit.h"

namespace trainyard::cli {
namespace {

constexpr std::size_t kTimelineParts = 300, kMostBurstTimes = 500;

// Four digits: a picture needs no more.
double for_a_picture(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10, std::floor(std::log10(std::fabs(value))) - 3);
  return std::round(value / unit) * unit;
}

double to_milli(double seconds) { return std::round(seconds * 1e3) / 1e3; }

Json json_of_stretches(const analyze::Stretches& stretches) {
  return {{"count", stretches.count},
          {"seconds", stretches.seconds},
          {"mean_seconds", stretches.mean_seconds},
          {"median_seconds", stretches.median_seconds},
          {"longest_seconds", stretches.longest_seconds},
          {"mean", stretches.mean},
          {"p95", stretches.p95}};
}

Json json_of_signal(const analyze::Signal& signal, const analyze::BurstProfile& profile) {
  const auto known = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  Json json{{"signal", signal.name},
            {"capacity", known(signal.capacity)},
            {"mean", profile.mean},
            {"p95", profile.p95},
            {"max", profile.most},
            {"low", profile.low},
            {"high", profile.high},
            {"explained", profile.explained},
            {"burst_share", profile.burst_share()},
            {"idle_share", 1 - profile.burst_share()},
            {"peak_share", known(profile.peak_share)},
            {"period_seconds", profile.period ? Json(profile.period->seconds) : Json(nullptr)},
            {"period_correlation", profile.period ? Json(profile.period->correlation) : Json(nullptr)},
            {"lone_samples", profile.lone_samples},
            {"burst", json_of_stretches(profile.burst)},
            {"idle", json_of_stretches(profile.idle)}};
  if (profile.bursts.size() <= kMostBurstTimes) {
    Json times = Json::array();
    for (const analyze::Stretch& burst : profile.bursts)
      times.push_back({to_milli(burst.from), to_milli(burst.to)});
    json["burst_times"] = std::move(times);
  }
  return json;
}

// A chart draws these points: the means over equal parts of the time, of all signals that change.
Json timeline_of(const ReducedTrace& reduced) {
  Json timeline{{"seconds", Json::array()}, {"signals", Json::object()}};
  for (std::size_t i = 0; i < reduced.signals.size(); ++i) {
    const std::vector<double>& values = reduced.signals[i].values;
    if (std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); })) continue;
    const analyze::Signal means = analyze::resampled(reduced.signals[i], kTimelineParts);
    Json numbers = Json::array();
    for (const double value : means.values) numbers.push_back(for_a_picture(value));
    timeline["signals"][means.name] = std::move(numbers);
    if (!timeline["seconds"].empty()) continue;
    for (const double edge : means.edges) timeline["seconds"].push_back(to_milli(edge));
  }
  return timeline;
}

}  // namespace

Json json_of(const ReducedTrace& reduced) {
  Json signals = Json::array();
  for (std::size_t i = 0; i < reduced.signals.size(); ++i)
    signals.push_back(json_of_signal(reduced.signals[i], reduced.profiles[i]));
  Json json{{"signals", std::move(signals)}, {"timeline", timeline_of(reduced)}};
  if (!reduced.legacy.empty()) {
    json["legacy"] = Json::array();
    for (const analyze::LegacyShares& shares : reduced.legacy)
      json["legacy"].push_back(
          {{"column", shares.column}, {"burst", shares.burst}, {"idle", shares.idle}, {"peak", shares.peak}});
  }
  return json;
}

void add_trace_figures(const record::ResourceTrace& trace, record::RunRecord& run) {
  double joules = 0;
  bool energy_known = false;
  for (const record::TraceColumn& column : trace.columns) {
    const auto known = std::find_if(column.values.rbegin(), column.values.rend(),
                                    [](double value) { return std::isfinite(value); });
    if (known == column.values.rend()) continue;
    if (record::unit_in_name(column.name) == record::unit::joules) {
      joules += *known;
      energy_known = true;
    } else if (column.name.starts_with("disk_") || column.name.starts_with("network_") ||
               column.name == "loopback_bytes") {
      run.figures.any()[column.name] = *known;
    } else if (column.name == "cpu_seconds" && column.capacity) {
      run.figures["cores_allowed"] = *column.capacity;
    } else if (column.name == "processes" || column.name == "proportional_bytes") {
      double most = 0;
      for (const double value : column.values)
        if (value > most) most = value;
      run.figures.any()["peak_" + column.name] = most;
    }
  }
  if (energy_known) run.figures["gpu_energy_joules"] = joules;
}

}  // namespace trainyard::cli
