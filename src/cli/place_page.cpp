#include <ctime>

#include "cli/place.h"
#include "cli/progress_bar.h"
#include "predict/runs/run_set.h"
#include "report/placement/placement_page.h"

namespace trainyard::cli {

namespace {

report::PlacementView placement_view(const PlacePageInput& input) {
  report::PlacementView view{
      .title = input.jobs.filename().string(), .problem = input.problem, .bounds = input.bounds};
  view.orders = input.orders;
  view.error = input.error;
  for (const place::JobRequest& request : input.requests) {
    const auto network = predict::find_named_network(request.run.network, request.run.dataset);
    view.families.push_back(network ? predict::family_of(network->network) : "");
  }
  for (const PolicyResult& result : input.results) view.policies.push_back(result.figures);
  const report::PolicyFigures* best = report::best_policy(view.policies);
  if (best == nullptr) return view;
  view.shown = best->name;
  // When jobs are shuffled, the first outcome numbers them in another order than the problem does.
  if (input.orders == 0)
    view.outcome = input.results[static_cast<std::size_t>(best - view.policies.data())].first;
  return view;
}

}  // namespace

WrittenFiles write_place_page(const PageFiles& files, const PlacePageInput& input, bool quiet) {
  const report::PlacementView view = placement_view(input);
  const std::vector<report::Chart> charts = report::make_placement_charts(view);
  return write_page(
      files, charts, {.cache = {}, .progress = terminal_progress(quiet)}, [&](const auto& libraries) {
        return report::make_placement_page(view, charts, libraries, static_cast<double>(std::time(nullptr)));
      });
}

}  // namespace trainyard::cli
