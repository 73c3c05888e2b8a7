#include "analyze/legacy_shares.h"

#include <algorithm>

#include "analyze/bursts.h"
#include "stats/two_means.h"

namespace trainyard::analyze {
namespace {

constexpr double kPeakShare = 0.9;

LegacyShares shares_of(const Signal& signal, double capacity) {
  const std::vector<double> equal(signal.values.size(), 1.0);
  LegacyShares shares{"", 1, 0, 0};
  if (const std::optional<stats::TwoMeans> levels = stats::two_means(signal.values, equal)) {
    shares.burst = std::max(levels->high_share, 1 - levels->high_share);
    shares.idle = 1 - shares.burst;
  }
  const auto high = std::count_if(signal.values.begin(), signal.values.end(),
                                  [&](double value) { return value > kPeakShare * capacity; });
  shares.peak = static_cast<double>(high) / static_cast<double>(signal.values.size());
  return shares;
}

}  // namespace

std::vector<LegacyShares> legacy_shares(const record::ResourceTrace& trace, double gpu_memory_bytes) {
  constexpr struct {
    const char *column, *signal;
  } kColumns[] = {{"gpu_util", "gpu0_busy_fraction"},
                  {"gpu_memory_util", "gpu0_memory_busy_fraction"},
                  {"gpu_memory", "gpu0_memory_used_bytes"},
                  {"cpu_util", "machine_cpu_fraction"},
                  {"cpu_util", "cpu_cores"}};
  std::vector<LegacyShares> list;
  const std::vector<Signal> signals = signals_of(trace);
  for (const auto& column : kColumns)
    for (const Signal& signal : signals) {
      if (signal.name != column.signal) continue;
      list.push_back(shares_of(signal, signal.capacity.value_or(gpu_memory_bytes)));
      list.back().column = column.column;
    }
  return list;
}

}  // namespace trainyard::analyze
