#include "base/json.h"
#include "cli/outputs.h"
#include "cli/predict.h"

#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/progress_bar.h"
#include "cli/text_table.h"
#include "ops/update.h"
#include "predict/analytic/fit_model.h"
#include "predict/bundled/bundled_models.h"
#include "predict/kernels/kernel_model.h"
#include "predict/runs/csv_rows.h"
#include "report/prediction/eval_charts.h"
#include "report/prediction/eval_page.h"
#include "stats/statistics.h"

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
  return write_page(
      files, charts, {.cache = {}, .progress = terminal_progress(quiet)}, [&](const auto& libraries) {
        return report::make_eval_page(view, charts, libraries, static_cast<double>(std::time(nullptr)));
      });
}

namespace {

using predict::Judged;
using predict::RunSet;
using predict::SplitKind;

struct EvalOptions {
  std::filesystem::path model, devices, predictions;
  std::vector<std::string> runs;
  std::string split, device, target, source;
  std::vector<std::string> together;
  std::vector<std::size_t> shots{5, 20, 40};
  std::uint64_t seed = 1;
  int seeds = 1;
  GraphKindOptions graph;
  PageFiles page;
  bool twins_together = false, intervals = false, skip_unknown = false, json = false, quiet = false;
};

// The runs that one seed held out, and how they were predicted.
struct Trial {
  std::string name;
  std::vector<Judged> judged;
};

SplitKind kind_named(const std::string& name) {
  const auto* at = std::find_if(std::begin(predict::kSplitKinds), std::end(predict::kSplitKinds),
                                [&](const predict::SplitKindName& row) { return row.name == name; });
  return at->kind;
}

std::vector<std::string> split_names() {
  std::vector<std::string> names;
  for (const predict::SplitKindName& row : predict::kSplitKinds) names.emplace_back(row.name);
  return names;
}

std::vector<Judged> judge_split(const RunSet& set, const predict::Split& split, const EvalOptions& options) {
  if (options.graph.is_kernels())
    return predict::judge(
        *predict::make_predictor(predict::fit_kernel_model(set, split.train, options.intervals)), set,
        split.test);
  if (!options.graph.is_graph())
    return predict::judge(predict::fit_model(set, split.train, {.calibrate = options.intervals}), set,
                          split.test);
  const predict::GraphRunModel model =
      fit_graph_kind(set, split.train, split.validation, options.graph, {.seed = options.seed}, options.quiet)
          .model;
  return predict::judge(*predict::make_predictor(model), set, split.test);
}

std::vector<Trial> hold_out(const RunSet& set, const EvalOptions& options) {
  const SplitKind kind = kind_named(options.split);
  const int seeds = kind == SplitKind::random ? options.seeds : 1;
  std::vector<Trial> trials;
  for (int i = 0; i < seeds; ++i) {
    const std::vector<predict::Split> splits = predict::make_splits(
        set, {kind, options.seed + static_cast<std::uint64_t>(i), options.twins_together, options.together});
    ProgressBar bar("eval", static_cast<std::int64_t>(splits.size()), options.quiet);
    for (const predict::Split& split : splits) {
      predict::check_no_leak(set, split, kind);
      trials.push_back({split.name, judge_split(set, split, options)});
      bar.update(static_cast<std::int64_t>(trials.size()));
    }
  }
  return trials;
}

// Fits the base to the runs of the device that is known, or takes the one that the program carries.
predict::KernelModel kernel_base(const RunSet& set, const EvalOptions& options) {
  if (!options.source.empty())
    return predict::fit_kernel_model(set, predict::rows_of_device(set, options.source));
  const auto device = std::find_if(
      set.devices.begin(), set.devices.end(),
      [&](const predict::DeviceSheet& one) { return predict::same_device_name(one.name, options.target); });
  if (device == set.devices.end())
    fail(ErrorKind::config, "{}: no run on '{}' to adapt with", joined(options.runs, ", "), options.target);
  const predict::BundledModel& like = predict::bundled_model_like(*device);
  return predict::parse_kernel_model(predict::parse_model_container(like.file, like.name), like.name);
}

std::vector<Trial> adapt(const RunSet& set, const EvalOptions& options) {
  const std::vector<std::size_t> source = predict::rows_of_device(set, options.source);
  if (source.empty() && !options.source.empty())
    fail(ErrorKind::config, "{}: no run on '{}' to learn from", joined(options.runs, ", "), options.source);
  const auto judge_few = [&](const auto& adapted) {
    std::vector<Trial> trials;
    for (const std::size_t few : options.shots)
      for (int i = 0; i < options.seeds; ++i) {
        const predict::Split split =
            predict::few_shot(set, options.target, few, options.seed + static_cast<std::uint64_t>(i));
        const std::unique_ptr<predict::Predictor> model = adapted(split.train);
        trials.push_back({fmt::format("{} runs", few), predict::judge(*model, set, split.test)});
      }
    return trials;
  };
  if (options.graph.is_kernels()) {
    const predict::KernelModel base = kernel_base(set, options);
    return judge_few([&](const std::vector<std::size_t>& few) {
      return predict::make_predictor(few.empty() ? base : predict::adapt_kernel_model(base, set, few));
    });
  }
  if (options.graph.is_graph()) {
    const auto fit = [&](const std::vector<std::size_t>& rows, const predict::GraphRunModel* base) {
      return fit_graph_kind(set, rows, {}, options.graph, {.seed = options.seed, .base = base}, options.quiet)
          .model;
    };
    const predict::GraphRunModel base = fit(source, nullptr);
    return judge_few([&](const std::vector<std::size_t>& few) {
      return predict::make_predictor(few.empty() ? base : fit(few, &base));
    });
  }
  const predict::TimeModel base = predict::fit_model(set, source, {.calibrate = false});
  return judge_few([&](const std::vector<std::size_t>& few) {
    return predict::make_predictor(
        few.empty() ? base : predict::fit_model(set, few, {.calibrate = false, .base = &base}));
  });
}

// Means over the seeds of what they held out, by its name.
NamedScores mean_scores(const std::vector<std::pair<std::string, predict::Score>>& scores) {
  using predict::Score;
  constexpr double Score::*kMeans[] = {&Score::mape,         &Score::median,   &Score::p95,
                                       &Score::spearman,     &Score::coverage, &Score::memory_mape,
                                       &Score::memory_median};
  NamedScores means;
  std::map<std::string, std::size_t> place;
  std::vector<double> counts;
  for (const auto& [name, score] : scores) {
    const auto [at, fresh] = place.try_emplace(name, means.size());
    if (fresh) {
      means.emplace_back(name, predict::Score{});
      counts.push_back(0);
    }
    predict::Score& sum = means[at->second].second;
    counts[at->second] += 1;
    sum.runs += score.runs;
    sum.oom += score.oom;
    sum.oom_missed += score.oom_missed;
    sum.oom_false += score.oom_false;
    sum.memory_runs += score.memory_runs;
    for (const auto member : kMeans) sum.*member += score.*member;
  }
  for (std::size_t i = 0; i < means.size(); ++i)
    for (const auto member : kMeans) means[i].second.*member /= counts[i];
  return means;
}

// Everything that tells a run from others: several that were held out together are listed with commas.
std::string identity_of(const std::string& held_out, const predict::TableRun& run) {
  using predict::csv_cell;
  std::string parameters;
  for (const auto& [name, value] : run.parameters)
    parameters += fmt::format("{}{}={}", parameters.empty() ? "" : " ", name, value);
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", csv_cell(held_out), csv_cell(run.device),
                     csv_cell(run.network), csv_cell(parameters),
                     run.input.rank() == 0 ? "" : run.input.to_string(), run.classes, run.batch,
                     ops::name(run.optimizer), backend::name(run.precision), csv_cell(run.dataset),
                     run.images_per_epoch, run.epochs);
}

void write_predictions(const RunSet& set, const std::vector<Trial>& trials,
                       const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(
      "held_out,device,network,parameters,input,classes,batch,optimizer,precision,dataset,images,epochs,"
      "measured_seconds,predicted_seconds,low_seconds,high_seconds,known,oom,oom_probability,measured_bytes,"
      "predicted_bytes\n");
  for (const Trial& trial : trials)
    for (const Judged& one : trial.judged) {
      const predict::TableRun& run = set.rows[one.row].run;
      file.write(identity_of(trial.name, run) + fmt::format(",{},{},{},{},{:.4f},{},{:.4f},{:.0f},{:.0f}\n",
                                                            one.measured, one.predicted, one.low, one.high,
                                                            one.known, one.oom ? 1 : 0, one.oom_probability,
                                                            one.measured_bytes, one.predicted_bytes));
    }
  file.commit();
}

std::vector<Judged> judged_of(const std::vector<Trial>& trials) {
  std::vector<Judged> all;
  for (const Trial& trial : trials) all.insert(all.end(), trial.judged.begin(), trial.judged.end());
  return all;
}

std::size_t count_unlike(const std::vector<Trial>& trials) {
  const std::vector<Judged> all = judged_of(trials);
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const Judged& one) { return one.unlike_learned; }));
}

// By device, network and family, over all that was judged.
struct Table {
  const char* name;
  NamedScores scores;
};
std::vector<Table> break_down(const RunSet& set, const std::vector<Trial>& trials) {
  const std::vector<Judged> all = judged_of(trials);
  const auto run = [&](const Judged& one) -> const predict::TableRun& { return set.rows[one.row].run; };
  return {{"device", scores_by(all, [&](const Judged& one) { return run(one).device; })},
          {"network", scores_by(all, [&](const Judged& one) { return run(one).network; })},
          {"family", scores_by(all, [&](const Judged& one) { return predict::family_of(run(one).network); })},
          {"all", {{"all", predict::score(all)}}}};
}

Json json_of_scores(const NamedScores& scores) {
  Json json = Json::object();
  for (const auto& [name, score] : scores) json[name] = json_of_score(score);
  return json;
}

// The figure that leave-one-out is judged by: mean and median over what was held out, each counting alike.
void summarise_held_out(const NamedScores& held, Json& report, bool print) {
  std::vector<double> mapes;
  for (const auto& [name, score] : held)
    if (score.runs > 0) mapes.push_back(score.mape);
  if (mapes.size() < 2) return;
  report["mean_of_mape"] = stats::mean(mapes);
  report["median_of_mape"] = stats::median(mapes);
  if (print)
    fmt::print("\nMAPE over these: mean {:.1f} %, median {:.1f} %\n", 100 * stats::mean(mapes),
               100 * stats::median(mapes));
}

WrittenFiles write_page_of(const EvalOptions& options, const RunSet& set, const std::vector<Trial>& trials,
                           const NamedScores& held, bool by_model) {
  if (!options.page.wanted()) return {};
  const std::filesystem::path model =
      by_model && options.model.empty() ? "the models that the program carries" : options.model;
  return write_eval_page(options.page,
                         {set, judged_of(trials), by_model ? NamedScores{} : held, joined(options.runs, ", "),
                          model, options.split, options.source, options.target, options.seeds},
                         options.quiet);
}

void check_eval(const EvalOptions& options) {
  const int ways =
      (options.model.empty() ? 0 : 1) + (options.split.empty() ? 0 : 1) + (options.target.empty() ? 0 : 1);
  if (ways > 1) fail(ErrorKind::usage, "predict eval: wants one of --model, --split and --to");
  if (!options.together.empty() &&
      (options.split.empty() || options.split == "random" || options.split == "campaign"))
    fail(ErrorKind::usage, "--together wants --split network, family, device, data, batch or epochs");
  if (!options.target.empty() && !options.graph.is_kernels() && options.source.empty())
    fail(ErrorKind::usage, "--to wants --from, the device that is known");
}

int eval(const EvalOptions& options) {
  check_eval(options);
  std::unique_ptr<predict::Predictor> model;
  if (options.split.empty() && options.target.empty()) model = read_model(options.model);
  const RunSet set = predict::prepare_runs(
      joined_runs(options.runs, options.device),
      devices_to_choose_from(model ? model->devices() : std::vector<predict::DeviceSheet>{}, options.devices),
      options.skip_unknown);
  std::vector<Trial> trials;
  if (model)
    trials.push_back({"all", predict::judge(*model, set, predict::all_rows(set))});
  else
    trials = options.target.empty() ? hold_out(set, options) : adapt(set, options);
  NamedScores scores;
  for (const Trial& trial : trials) scores.emplace_back(trial.name, predict::score(trial.judged));
  const NamedScores held = mean_scores(scores);
  if (!options.predictions.empty()) write_predictions(set, trials, options.predictions);
  const WrittenFiles written = write_page_of(options, set, trials, held, model != nullptr);
  const std::size_t unlike = count_unlike(trials);
  Json report{{"runs", set.rows.size()},
              {"unlike_learned", unlike},
              {"skipped", set.skipped},
              {"held_out", json_of_scores(held)}};
  if (!options.json && !model) print_scores("held out", held);
  if (options.split != "random" && !model && options.target.empty())
    summarise_held_out(held, report, !options.json);
  for (const Table& table : break_down(set, trials)) {
    report["by_" + std::string(table.name)] = json_of_scores(table.scores);
    if (options.json) continue;
    fmt::print("\n");
    print_scores(table.name, table.scores);
  }
  const std::vector<predict::UseScore> use = predict::score_use(set, judged_of(trials));
  report["utilisation"] = json_of_use_scores(use);
  if (!options.json) print_use_scores(use);
  for (const auto& [name, count] : set.skipped)
    if (!options.json)
      fmt::print("left out: {} runs of '{}', which is unknown or has changed\n", count, name);
  if (!options.json && unlike > 0)
    fmt::print("{} runs are of networks unlike any that was learned from\n", unlike);
  if (!options.json) print_written(written, fmt::format("{} runs", set.rows.size()));
  describe_written(written, report);
  if (options.json) fmt::print("{}\n", json_text(report));
  return 0;
}

// Options of what is learned from and what is judged by.
void declare_parts(Command& command, EvalOptions& options) {
  command
      .add_option("--split", options.split,
                  "Fit to a part of the runs and judge by the others: `random` fifths; each network, family, "
                  "device, data set, batch size or number of epochs held out; campaign: each family on each "
                  "device, by other families on other devices")
      ->check(one_of(split_names()));
  command.add_option("--to", options.target, "Adapt to this device with few of its runs")
      ->type_name("DEVICE");
  command.add_option("--from", options.source, "With --to: the device that is known")->type_name("DEVICE");
  command.add_option("--shots", options.shots, "With --to: how many runs; 0: none of that device")
      ->transform(within(record::NumberRange::whole(0, 1'000'000)))
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Of random parts")
      ->transform(within("seed"))
      ->capture_default_str();
  command.add_option("--seeds", options.seeds, "Repeat random parts with so many seeds, and show means")
      ->transform(within(record::NumberRange::whole(1, 1'000)))
      ->capture_default_str();
  command
      .add_option("--together", options.together,
                  "With --split network, family, device, data, batch or epochs: hold these out at once, "
                  "instead of each by itself")
      ->delimiter(',')
      ->type_name("NAME,...");
  command.add_flag("--twins-together", options.twins_together,
                   "random: runs that differ in epochs or data set alone stay on one side");
}

}  // namespace

std::function<int()> declare_predict_eval(Command& command) {
  const auto options = std::make_shared<EvalOptions>();
  command
      .add_option(
          "--runs", options->runs,
          "Runs to judge by: tables (CSV), records (.json, .jsonl, .jsonl.gz), folders; DEVICE=RUNS of "
          "this device")
      ->required()
      ->type_name("RUNS");
  command.add_option("--model", options->model, "Judge this model (default: those that the program carries)")
      ->type_name("MODEL");
  declare_parts(command, *options);
  command.add_flag("--intervals", options->intervals, "With --split: calibrate intervals each time (slow)");
  command.add_option("--devices", options->devices, "Further devices (YAML)")->type_name("FILE");
  command.add_option("--device", options->device, "Records are of this device")->type_name("NAME");
  add_output_file(command, "--predictions", options->predictions, "Write every prediction as CSV");
  add_output_file(command, "--report", options->page.page,
                  "Write a page of charts and tables (HTML, needs no network)");
  declare_chart_files(command, options->page);
  command.add_flag("--skip-unknown", options->skip_unknown,
                   "Leave out runs of unknown networks or devices, and count them");
  add_graph_kind_options(command, options->graph);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options->quiet, "No progress bar");
  command.footer(
      "Examples:\n"
      "  trainyard predict eval --runs runs.csv --model model.json\n"
      "  trainyard predict eval --runs runs.csv --split network --json");
  return [options, &command] {
    std::vector<Idle> idle = idle_options(options->graph);
    idle.push_back({options->target.empty(), {"--from", "--shots"}, "they are for --to"});
    idle.push_back({options->split.empty(), {"--intervals"}, "it is for --split"});
    idle.push_back({options->split != "random", {"--twins-together"}, "it is for --split random"});
    idle.push_back({!options->model.empty(),
                    {"--kind", "--seed", "--seeds", "--groups", "--epochs", "--patience"},
                    "--model is there, and none is fitted"});
    idle.push_back({options->page.charts.empty(), {"--format"}, "no files without --charts"});
    warn_of_idle_options(command, idle);
    return eval(*options);
  };
}

}  // namespace trainyard::cli
