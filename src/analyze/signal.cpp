#include "analyze/signal.h"

#include <algorithm>
#include <cmath>

namespace trainyard::analyze {
namespace {

using record::TraceColumn;

// cpu_seconds -> cpu_cores, X_bytes -> X_bytes_per_second.
std::string name_of_rate(const std::string& counter) {
  const std::string seconds = "_seconds";
  if (counter.ends_with(seconds)) return counter.substr(0, counter.size() - seconds.size()) + "_cores";
  return counter + "_per_second";
}

// Every value is the last that was known, or the first that will be.
std::vector<double> without_gaps(std::vector<double> values) {
  const auto known = [](double value) { return std::isfinite(value); };
  const auto first = std::find_if(values.begin(), values.end(), known);
  if (first == values.end()) return {};
  std::fill(values.begin(), first, *first);
  for (std::size_t i = 1; i < values.size(); ++i)
    if (!known(values[i])) values[i] = values[i - 1];
  return values;
}

}  // namespace

std::vector<double> Signal::durations() const {
  std::vector<double> seconds(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) seconds[i] = duration(i);
  return seconds;
}

std::vector<Signal> signals_of(const record::ResourceTrace& trace) {
  std::vector<Signal> signals;
  for (const TraceColumn& column : trace.columns) {
    std::vector<double> values = without_gaps(column.values);
    if (values.empty() || column.name.ends_with("_joules")) continue;  // power is a column of its own
    // What was sampled at the very start holds for no time.
    const bool from_zero = trace.seconds.front() > 0;
    Signal signal{column.name, trace.seconds, {}, column.capacity};
    if (column.kind == TraceColumn::Kind::counter) {
      signal.name = name_of_rate(column.name);
      if (from_zero) {
        signal.edges.insert(signal.edges.begin(), 0.0);
        values.insert(values.begin(), 0.0);
      }
      for (std::size_t i = 1; i < values.size(); ++i)
        signal.values.push_back(std::max(values[i] - values[i - 1], 0.0) / signal.duration(i - 1));
    } else {
      if (from_zero) signal.edges.insert(signal.edges.begin(), 0.0);
      signal.values.assign(values.begin() + (from_zero ? 0 : 1), values.end());
    }
    if (!signal.values.empty()) signals.push_back(std::move(signal));
  }
  return signals;
}

Signal resampled(const Signal& signal, std::size_t parts) {
  if (signal.values.size() < parts) parts = signal.values.size();
  const double from = signal.edges.front(), length = signal.edges.back() - from;
  Signal means{signal.name, {}, std::vector<double>(parts), signal.capacity};
  for (std::size_t part = 0; part <= parts; ++part)
    means.edges.push_back(from + length * static_cast<double>(part) / static_cast<double>(parts));
  for (std::size_t part = 0, i = 0; part < parts; ++part) {
    double sum = 0;
    for (;; ++i) {
      const double begin = std::max(signal.edges[i], means.edges[part]),
                   end = std::min(signal.edges[i + 1], means.edges[part + 1]);
      sum += signal.values[i] * std::max(end - begin, 0.0);
      if (signal.edges[i + 1] >= means.edges[part + 1] || i + 1 == signal.values.size()) break;
    }
    means.values[part] = sum / means.duration(part);
  }
  return means;
}

}  // namespace trainyard::analyze
