#include "cli/predict_eval_page.h"

#include <ctime>

#include <fmt/core.h>

#include "ops/update.h"
#include "report/prediction/eval_charts.h"
#include "report/prediction/eval_page.h"

namespace trainyard::cli {
namespace {

std::string seeds_text(int seeds) { return seeds == 1 ? "" : fmt::format(" {} seeds.", seeds); }

std::string method_of(const EvalPageInput& input) {
  if (!input.model.empty())
    return fmt::format("Predicted by {}, which may have learned from these runs.",
                       input.model.filename().string());
  if (!input.target.empty())
    return fmt::format("Predicted by a model of {} that was adapted with few runs of {}.{}", input.source,
                       input.target, seeds_text(input.seeds));
  if (input.split == "random")
    return "Predicted by models that learned from three fifths of each device's runs; these are another "
           "fifth." +
           seeds_text(input.seeds);
  return fmt::format(
      "Each {} in turn was held out: the model that predicts its runs learned from the others alone.",
      input.split);
}

}  // namespace

WrittenFiles write_eval_page(const PageFiles& files, EvalPageInput input, bool quiet) {
  report::EvalView view{input.runs.filename().string(), method_of(input),          {},
                        std::move(input.judged),        std::move(input.held_out), input.set.skipped};
  for (const predict::RunSet::Row& row : input.set.rows)
    view.runs.push_back({row.run.network, row.run.device, predict::family_of(row.run.network),
                         ops::name(row.run.optimizer), row.run.dataset, row.run.batch, row.run.epochs});
  const std::vector<report::Chart> charts = report::make_eval_charts(view);
  return write_page(files, charts, {.cache = {}, .quiet = quiet}, [&](const auto& libraries) {
    return report::make_eval_page(view, charts, libraries, static_cast<double>(std::time(nullptr)));
  });
}

}  // namespace trainyard::cli
