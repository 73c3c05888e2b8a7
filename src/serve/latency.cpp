#include "serve/latency.h"

#include "base/error.h"
#include "stats/statistics.h"

namespace trainyard::serve {

Tail tail_of(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  return {stats::quantile_of_sorted(seconds, 0.5), stats::quantile_of_sorted(seconds, 0.95),
          stats::quantile_of_sorted(seconds, 0.99), seconds.back()};
}

namespace {

constexpr std::size_t kFewBatches = 5;  // the median of fewer says too little

Tail tail_since_due(const std::vector<Request>& requests, double Request::*moment) {
  std::vector<double> seconds;
  for (const Request& request : requests) seconds.push_back(request.*moment - request.due);
  return tail_of(std::move(seconds));
}

double full_seconds(const std::vector<Batch>& batches, std::int64_t full, double otherwise) {
  std::vector<double> seconds;
  for (const Batch& batch : batches)
    if (batch.requests == full) seconds.push_back(batch.ended - batch.begun);
  return seconds.size() < kFewBatches ? otherwise : stats::median(seconds);
}

}  // namespace

LatencySummary summarise(const QueueOptions& options, const Answered& answered, double full_batch_seconds) {
  TRAINYARD_CHECK(!answered.requests.empty());
  const auto batch = static_cast<double>(options.batch);
  const double seconds = answered.batches.back().ended;
  LatencySummary summary{.latency = tail_since_due(answered.requests, &Request::ended),
                         .queue = tail_since_due(answered.requests, &Request::begun),
                         .first = tail_since_due(answered.requests, &Request::first)};
  const double full = full_seconds(answered.batches, options.batch, full_batch_seconds);
  summary.requests_per_second = static_cast<double>(answered.requests.size()) / seconds;
  summary.capacity_per_second = full > 0 ? batch / full : 0;
  for (const Batch& one : answered.batches) {
    summary.fill += static_cast<double>(one.requests) / batch;
    summary.busy += (one.ended - one.begun) / seconds;
    summary.peak_queue = std::max(summary.peak_queue, one.waiting - one.requests);
  }
  summary.fill /= static_cast<double>(answered.batches.size());
  summary.overloaded =
      options.arrivals.is_open() && full > 0 && options.arrivals.rate > summary.capacity_per_second;
  return summary;
}

}  // namespace trainyard::serve
