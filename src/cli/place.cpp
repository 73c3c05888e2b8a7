#include "cli/place.h"

#include <ctime>

#include "base/json.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "cli/predict.h"
#include "cli/progress_bar.h"
#include "cli/text_table.h"
#include "predict/analytic/predictor.h"
#include "predict/runs/run_set.h"
#include "process/stop_request.h"
#include "report/placement/placement_charts.h"
#include "report/placement/placement_page.h"

namespace trainyard::cli {

namespace {

report::PlacementView placement_view(const PlacePageInput& input) {
  report::PlacementView view{.title = input.jobs.filename().string(), .problem = input.problem};
  view.orders = input.orders;
  view.error = input.error;
  for (const place::JobRequest& request : input.requests) {
    const auto network = predict::find_named_network(request.run.network);
    view.families.push_back(network ? predict::family_of(network->network) : "");
  }
  for (const PolicyResult& result : input.results)
    view.policies.push_back({result.policy->name, result.policy->description, result.left_out,
                             result.mean_completion_seconds, result.makespan_seconds, result.utilisation,
                             result.out_of_memory});
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

namespace {

using place::Outcome;
using place::Policy;
using place::Problem;

struct PlaceOptions {
  std::filesystem::path jobs, cluster, model, out = "placement";
  std::string submit;
  std::string policy = "earliest-finish-shortest";
  double error = 0;
  std::uint64_t seed = 1;
  int orders = 0;
  PageFiles page;
  bool json = false;
};

PolicyResult result_of(const Problem& given, const Policy& policy, const PlaceOptions& options) {
  PolicyResult result{.policy = &policy};
  const int orders = std::max(options.orders, 1);
  for (int i = 0; i < orders; ++i) {
    Problem problem = given;
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    if (options.orders > 0) place::shuffle_jobs(problem, seed);
    if (options.error > 0) place::inject_error(problem, options.error, seed);
    Outcome outcome = place::simulate(problem, policy, seed);
    result.mean_completion_seconds += outcome.mean_completion_seconds / orders;
    result.makespan_seconds += outcome.makespan_seconds / orders;
    result.utilisation += outcome.utilisation / orders;
    result.out_of_memory += static_cast<double>(outcome.out_of_memory) / orders;
    if (i == 0) result.first = std::move(outcome);
  }
  return result;
}

std::vector<PolicyResult> results_of(const Problem& problem, const PlaceOptions& options) {
  if (options.policy != "all") return {result_of(problem, place::find_policy(options.policy), options)};
  std::vector<PolicyResult> results;
  for (const Policy& policy : place::all_policies()) try {
      results.push_back(result_of(problem, policy, options));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      results.push_back({.policy = &policy, .left_out = error.what()});
    }
  return results;
}

std::string decision_text(const Problem& problem, const place::Placement& decision) {
  return fmt::format("{} on {}: {}{}", problem.jobs[decision.job].name, problem.slots[decision.slot].name,
                     decision.reason, decision.out_of_memory ? "; it ran out of memory" : "");
}

Json json_of_decision(const Problem& problem, const place::Placement& decision) {
  const place::Option& option = problem.jobs[decision.job].options[problem.slots[decision.slot].kind];
  return {{"job", problem.jobs[decision.job].name},
          {"slot", problem.slots[decision.slot].name},
          {"reason", decision.reason},
          {"predicted_seconds", option.seconds},
          {"start_seconds", decision.start_seconds},
          {"end_seconds", decision.end_seconds},
          {"out_of_memory", decision.out_of_memory}};
}

Json json_of_result(const Problem& problem, const PolicyResult& result, bool decisions) {
  Json json{{"policy", result.policy->name}};
  if (!result.left_out.empty()) {
    json["left_out"] = result.left_out;
    return json;
  }
  json["mean_completion_seconds"] = result.mean_completion_seconds;
  json["makespan_seconds"] = result.makespan_seconds;
  json["utilisation"] = result.utilisation;
  json["out_of_memory"] = result.out_of_memory;
  if (!decisions) return json;
  json["energy_joules"] = result.first.energy_joules;
  json["price"] = result.first.price;
  json["unplaced"] = Json::array();
  for (const std::size_t job : result.first.unplaced) json["unplaced"].push_back(problem.jobs[job].name);
  json["decisions"] = Json::array();
  for (const place::Placement& decision : result.first.decisions)
    json["decisions"].push_back(json_of_decision(problem, decision));
  return json;
}

void print_results(const Problem& problem, const std::vector<PolicyResult>& results, bool decisions) {
  if (decisions) {
    for (const place::Placement& decision : results[0].first.decisions)
      fmt::print("{}\n", decision_text(problem, decision));
    for (const std::size_t job : results[0].first.unplaced)
      fmt::print("{} nowhere: it fits into the memory of no device\n", problem.jobs[job].name);
    fmt::print("\n");
  }
  TextTable table({"policy", "mean JCT", "makespan", "utilisation", "out of memory"});
  for (const PolicyResult& result : results)
    if (result.left_out.empty())
      table.add({result.policy->name, format_seconds(result.mean_completion_seconds),
                 format_seconds(result.makespan_seconds), fmt::format("{:.1f} %", 100 * result.utilisation),
                 fmt::format("{:.1f}", result.out_of_memory)});
  fmt::print("{}", table.text());
  for (const PolicyResult& result : results)
    if (!result.left_out.empty()) fmt::print("{}: {}\n", result.policy->name, result.left_out);
}

std::string slot_of(const study::RunState& state) {
  return record::to_text(state.planned.settings.at("slot"));
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

int run_place(const PlaceOptions& options) {
  const std::unique_ptr<predict::Predictor> model = read_model(options.model);
  const place::Cluster cluster =
      place::read_cluster(options.cluster, devices_to_choose_from(model->devices(), {}));
  const std::vector<place::JobRequest> requests = place::read_jobs(options.jobs);
  const Problem problem = place::make_problem(requests, cluster, model.get());
  const std::vector<PolicyResult> results = results_of(problem, options);
  const bool decisions = options.policy != "all" && options.orders == 0;
  if (!options.submit.empty() && !decisions)
    fail(ErrorKind::usage, "--submit wants one policy and one order of arrival");
  WrittenFiles written;
  if (options.page.wanted())
    written = write_place_page(options.page,
                               {problem, requests, results, options.jobs, options.orders, options.error},
                               options.json);
  if (!options.json) {
    print_results(problem, results, decisions);
    print_written(written, fmt::format("{} jobs", problem.jobs.size()));
  }
  const process::StopRequest guard;
  study::StudyProgress submitted;
  if (!options.submit.empty())
    submitted = submit_placement(problem, requests, results[0].first, {options.submit, options.out});
  const int code = submitted_code(submitted);
  if (!options.json) {
    print_submitted(submitted);
    return code;
  }
  Json report{{"jobs", problem.jobs.size()},
              {"slots", problem.slots.size()},
              {"makespan_bound_seconds", place::makespan_bound_seconds(problem)},
              {"policies", Json::array()}};
  for (const PolicyResult& result : results)
    report["policies"].push_back(json_of_result(problem, result, decisions));
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
  for (const Policy& policy : place::all_policies()) names += std::string(policy.name) + ", ";
  command.add_option("--policy", options->policy, "How: " + names + "or all")->capture_default_str();
  command
      .add_option("--error", options->error, "Make predictions wrong by this deviation of their logarithm")
      ->transform(within(record::NumberRange::real(0, 10)))
      ->capture_default_str();
  command
      .add_option("--orders", options->orders, "Let the jobs arrive in so many random orders, and show means")
      ->transform(within(record::NumberRange::whole(1, 10'000)));
  command.add_option("--seed", options->seed, "Of orders, errors and random placement")
      ->transform(within("seed"))
      ->capture_default_str();
  command
      .add_option("--submit", options->submit,
                  "Start the jobs as they were placed, here (local) or on slurm; again to go on")
      ->check(one_of({"local", "slurm"}));
  add_output_folder(command, "--out", options->out, "With --submit: folder for their records and logs")
      ->capture_default_str();
  add_output_file(command, "--report", options->page.page,
                  "Write a page of charts and tables (HTML, needs no network)");
  declare_chart_files(command, options->page);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "A job that does not fit into a device's memory is never placed there. JCT is the time from a job's\n"
      "arrival to its end.\n\n"
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
