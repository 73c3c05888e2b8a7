#include "report/charts.h"

namespace trainyard::report {

std::vector<Chart> make_charts(const StudyView& view) {
  using Make = Chart (*)(const StudyView&);
  constexpr Make kCharts[] = {make_throughput_chart, make_threads_chart, make_devices_chart,
                              make_workers_chart,    make_batch_chart,   make_steps_chart,
                              make_cores_chart,      make_staging_chart};
  std::vector<Chart> charts;
  for (const Make make : kCharts) charts.push_back(make(view));
  return charts;
}

}  // namespace trainyard::report
