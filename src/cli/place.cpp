#include "cli/place.h"

#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "cli/predict.h"
#include "predict/analytic/predictor.h"
#include "process/stop_request.h"

namespace trainyard::cli {

namespace {

using place::Problem;

struct PlaceOptions {
  std::filesystem::path jobs, cluster, model, out = "placement";
  std::string submit;
  PlaceTrial trial;
  PageFiles page;
  bool json = false;
};

// Returns the slot that the run had. One that has not run has none yet where its start decides.
std::string slot_of(const study::RunState& state) {
  const record::Settings& settings = state.result ? state.result->asked : state.planned.settings;
  const auto at = settings.find("slot");
  return at == settings.end() ? "" : record::to_text(at->second);
}

Json json_of_run(const study::RunState& state) {
  if (!state.result) return {{"run", state.planned.cell}, {"slot", slot_of(state)}, {"status", "missing"}};
  return {{"run", state.result->id},
          {"slot", slot_of(state)},
          {"status", name(state.result->status)},
          {"reason", state.result->reason}};
}

void print_submitted(const study::StudyProgress& submitted) {
  for (const study::RunState& state : submitted.states)
    if (state.result)
      fmt::print("{:<11} {} on {}  {}\n", name(state.result->status), state.result->id, slot_of(state),
                 state.result->reason);
}

// Says in one line what is not done, too.
int submitted_code(const study::StudyProgress& submitted) {
  if (process::StopRequest::asked()) {
    fmt::print(stderr, "trainyard: interrupted; the same command goes on\n");
    return kInterrupted;
  }
  if (submitted.done() == submitted.expected()) return 0;
  const auto first = std::find_if(submitted.states.begin(), submitted.states.end(),
                                  [](const study::RunState& state) { return state.result && !state.done(); });
  fmt::print(stderr, "trainyard: {} of {} jobs did not end well{}\n", submitted.expected() - submitted.done(),
             submitted.expected(),
             first == submitted.states.end()
                 ? ""
                 : fmt::format("; {}: {}, {}", first->result->id, name(first->result->status),
                               first->result->reason));
  return kRunFailed;
}

// Says in one line which jobs fit nowhere, where policies ask for that.
int placed_code(const Problem& problem, const std::vector<PolicyResult>& results) {
  const bool asked = std::any_of(results.begin(), results.end(), [](const PolicyResult& one) {
    return !one.left_out() && one.policy->checks_memory;
  });
  constexpr std::size_t kMostNames = 5;
  std::string names;
  std::size_t nowhere = 0;
  for (const place::Job& job : problem.jobs) {
    if (place::shortest_seconds(problem, job) < std::numeric_limits<double>::infinity()) continue;
    if (nowhere++ < kMostNames) names += (names.empty() ? "" : ", ") + job.name;
  }
  if (!asked || nowhere == 0) return 0;
  fmt::print(stderr, "trainyard: {} of {} jobs can be placed nowhere: {}{}\n", nowhere, problem.jobs.size(),
             names, nowhere > kMostNames ? fmt::format(" and {} more", nowhere - kMostNames) : "");
  return kRunFailed;
}

int run_place(const PlaceOptions& options) {
  const std::unique_ptr<predict::Predictor> model = read_model(options.model);
  const place::Cluster cluster =
      place::read_cluster(options.cluster, devices_to_choose_from(model->devices(), {}));
  const std::vector<place::JobRequest> requests = place::read_jobs(options.jobs);
  const Problem problem = place::make_problem(requests, cluster, model.get());
  const std::vector<PolicyResult> results = try_policies(problem, options.trial);
  const bool decisions = options.trial.policy != "all" && options.trial.orders == 0;
  if (!options.submit.empty() && !decisions)
    fail(ErrorKind::usage, "--submit wants one policy and one order of arrival");
  const place::Bounds bounds = place::bounds_of(problem);
  WrittenFiles written;
  if (options.page.wanted())
    written = write_place_page(
        options.page,
        {problem, bounds, requests, results, options.jobs, options.trial.orders, options.trial.error},
        options.json);
  if (!options.json) {
    print_results(problem, bounds, results, decisions);
    print_written(written, fmt::format("{} jobs", problem.jobs.size()));
  }
  const process::StopRequest guard;
  study::StudyProgress submitted;
  if (!options.submit.empty())
    submitted = submit_placement(problem, requests, results[0].first,
                                 {options.submit, results[0].policy, options.out});
  const int submitted_well = submitted_code(submitted);
  const int code = submitted_well != 0 ? submitted_well : placed_code(problem, results);
  if (!options.json) {
    print_submitted(submitted);
    return code;
  }
  Json report = json_of_results(problem, bounds, results, decisions);
  for (const study::RunState& state : submitted.states) report["submitted"].push_back(json_of_run(state));
  describe_written(written, report);
  fmt::print("{}\n", json_text(report));
  return code;
}

}  // namespace

std::function<int()> declare_place(Command& command) {
  const auto options = std::make_shared<PlaceOptions>();
  command.add_option("jobs", options->jobs, "Jobs to place (YAML, docs/formats/jobs.md)")
      ->required()
      ->type_name("JOBS");
  command.add_option("--cluster", options->cluster, "Devices there are (YAML, docs/formats/cluster.md)")
      ->required()
      ->type_name("CLUSTER");
  command
      .add_option("--model", options->model,
                  "What `predict fit` wrote (default: the models that the program carries)")
      ->type_name("MODEL");
  std::string names;
  for (const place::Policy& policy : place::all_policies()) names += std::string(policy.name) + ", ";
  command.add_option("--policy", options->trial.policy, "How: " + names + "or all")->capture_default_str();
  command
      .add_option("--error", options->trial.error,
                  "Make predictions wrong by this deviation of their logarithm")
      ->transform(within(record::NumberRange::real(0, 10)))
      ->capture_default_str();
  command
      .add_option("--orders", options->trial.orders,
                  "Let the jobs arrive in so many random orders, and show means")
      ->transform(within(record::NumberRange::whole(1, 10'000)));
  command.add_option("--seed", options->trial.seed, "Of orders, errors and random placement")
      ->transform(within("seed"))
      ->capture_default_str();
  command
      .add_option("--submit", options->submit,
                  "Start the jobs by this policy, here (local) or on slurm; again to go on")
      ->check(one_of({"local", "slurm"}));
  add_output_folder(command, "--out", options->out, "With --submit: folder for their records and logs")
      ->capture_default_str();
  add_output_file(command, "--report", options->page.page,
                  "Write a page of charts and tables (HTML, needs no network)");
  declare_chart_files(command, options->page);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "A job that does not fit into a device's memory is never placed there. JCT is the time from a job's\n"
      "arrival to its end; 'bound' is what no schedule without stops goes below. Slow-down is JCT over the "
      "time on\n"
      "the fastest device. Exit code 2: jobs can be placed nowhere, or did not end well.\n\n"
      "Examples:\n"
      "  trainyard place jobs.yaml --cluster cluster.yaml --model model.json\n"
      "  trainyard place jobs.yaml --cluster cluster.yaml --model model.json --policy all --error 0.1 "
      "--json");
  return [options, &command] {
    warn_of_idle_options(command,
                         {{options->submit.empty(), {"--out"}, "nothing is started without --submit"},
                          {options->page.charts.empty(), {"--format"}, "no files without --charts"}});
    return run_place(*options);
  };
}

}  // namespace trainyard::cli
