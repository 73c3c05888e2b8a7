#include <ctime>

#include "base/json.h"
#include "base/text.h"
#include "cli/place.h"
#include "cli/progress_bar.h"
#include "cli/text_table.h"
#include "predict/runs/run_set.h"
#include "report/placement/placement_page.h"

namespace trainyard::cli {

namespace {

using place::Policy;
using place::Problem;

void add_share(const place::Outcome& outcome, double share, report::PolicyFigures& figures) {
  figures.mean_completion_seconds += outcome.mean_completion_seconds * share;
  figures.median_completion_seconds += outcome.median_completion_seconds * share;
  figures.p95_completion_seconds += outcome.p95_completion_seconds * share;
  figures.makespan_seconds += outcome.makespan_seconds * share;
  figures.utilisation += outcome.utilisation * share;
  figures.mean_slowdown += outcome.mean_slowdown * share;
  figures.fairness += outcome.fairness * share;
  figures.stops += static_cast<double>(outcome.stops) * share;
  figures.out_of_memory += static_cast<double>(outcome.out_of_memory) * share;
}

PolicyResult result_of(const Problem& given, const Policy& policy, const PlaceTrial& trial) {
  PolicyResult result{&policy, {policy.name, policy.description}, {}};
  const int orders = std::max(trial.orders, 1);
  for (int i = 0; i < orders; ++i) {
    Problem problem = given;
    const std::uint64_t seed = trial.seed + static_cast<std::uint64_t>(i);
    if (trial.orders > 0) place::shuffle_jobs(problem, seed);
    if (trial.error > 0) place::inject_error(problem, trial.error, seed);
    place::Outcome outcome = place::simulate(problem, policy, seed);
    add_share(outcome, 1.0 / orders, result.figures);
    if (i == 0) result.first = std::move(outcome);
  }
  return result;
}

}  // namespace

std::vector<PolicyResult> try_policies(const Problem& problem, const PlaceTrial& trial) {
  if (trial.policy != "all") return {result_of(problem, place::find_policy(trial.policy), trial)};
  std::vector<PolicyResult> results;
  for (const Policy& policy : place::all_policies()) try {
      results.push_back(result_of(problem, policy, trial));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      results.push_back({&policy, {policy.name, policy.description, error.what()}, {}});
    }
  return results;
}

namespace {

std::string slots_text(const Problem& problem, const place::Stretch& stretch) {
  std::string text;
  for (const std::size_t slot : stretch.slots) text += (text.empty() ? "" : "+") + problem.slots[slot].name;
  return text;
}

std::string decision_text(const Problem& problem, const place::Placement& decision) {
  std::string where = slots_text(problem, decision.stretches.front());
  for (std::size_t i = 1; i < decision.stretches.size(); ++i)
    where += fmt::format(", stopped, then {}", slots_text(problem, decision.stretches[i]));
  return fmt::format("{} on {}: {}{}", problem.jobs[decision.job].name, where, decision.reason,
                     decision.out_of_memory ? "; it ran out of memory" : "");
}

Json json_of_decision(const Problem& problem, const place::Placement& decision) {
  const place::Job& job = problem.jobs[decision.job];
  Json json{{"job", job.name},
            {"slot", problem.slots[decision.slot].name},
            {"reason", decision.reason},
            {"predicted_seconds", job.options[problem.slots[decision.slot].kind].seconds},
            {"start_seconds", decision.start_seconds},
            {"end_seconds", decision.end_seconds},
            {"out_of_memory", decision.out_of_memory}};
  if (!job.user.empty()) json["user"] = job.user;
  if (job.devices == 1 && decision.stretches.size() == 1) return json;
  for (const place::Stretch& stretch : decision.stretches) {
    Json slots = Json::array();
    for (const std::size_t slot : stretch.slots) slots.push_back(problem.slots[slot].name);
    json["stretches"].push_back(
        {{"slots", slots}, {"start_seconds", stretch.start_seconds}, {"end_seconds", stretch.end_seconds}});
  }
  return json;
}

Json json_of_user(const place::UserFigures& user) {
  return {{"user", user.user},
          {"jobs", user.jobs},
          {"mean_completion_seconds", user.mean_completion_seconds},
          {"device_seconds", user.device_seconds},
          {"mean_slowdown", user.mean_slowdown},
          {"finish_time_fairness", user.finish_time_fairness}};
}

Json json_of_result(const Problem& problem, const PolicyResult& result, bool decisions) {
  const report::PolicyFigures& figures = result.figures;
  Json json{{"policy", figures.name}};
  if (result.left_out()) {
    json["left_out"] = figures.left_out;
    return json;
  }
  json["mean_completion_seconds"] = figures.mean_completion_seconds;
  json["median_completion_seconds"] = figures.median_completion_seconds;
  json["p95_completion_seconds"] = figures.p95_completion_seconds;
  json["mean_slowdown"] = figures.mean_slowdown;
  json["makespan_seconds"] = figures.makespan_seconds;
  json["utilisation"] = figures.utilisation;
  json["out_of_memory"] = figures.out_of_memory;
  json["stops"] = figures.stops;
  if (figures.fairness > 0) json["fairness"] = figures.fairness;
  if (!decisions) return json;
  json["energy_joules"] = result.first.energy_joules;
  json["price"] = result.first.price;
  for (const place::UserFigures& user : result.first.users) json["users"].push_back(json_of_user(user));
  json["unplaced"] = Json::array();
  for (const std::size_t job : result.first.unplaced) json["unplaced"].push_back(problem.jobs[job].name);
  json["decisions"] = Json::array();
  for (const place::Placement& decision : result.first.decisions)
    json["decisions"].push_back(json_of_decision(problem, decision));
  return json;
}

}  // namespace

Json json_of_results(const Problem& problem, const place::Bounds& bounds,
                     const std::vector<PolicyResult>& results, bool decisions) {
  Json report{{"jobs", problem.jobs.size()},
              {"slots", problem.slots.size()},
              {"mean_completion_bound_seconds", bounds.mean_completion_seconds},
              {"makespan_bound_seconds", bounds.makespan_seconds},
              {"policies", Json::array()}};
  for (const PolicyResult& result : results)
    report["policies"].push_back(json_of_result(problem, result, decisions));
  return report;
}

namespace {

void print_decisions(const Problem& problem, const place::Outcome& outcome) {
  for (const place::Placement& decision : outcome.decisions)
    fmt::print("{}\n", decision_text(problem, decision));
  for (const std::size_t job : outcome.unplaced)
    fmt::print("{} nowhere: {}\n", problem.jobs[job].name, place::why_nowhere(problem.jobs[job]));
  fmt::print("\n");
}

void print_users(const place::Outcome& outcome) {
  if (outcome.users.empty()) return;
  TextTable table({"user", "jobs", "mean JCT", "slow-down", "device time", "against an equal share"});
  for (const place::UserFigures& user : outcome.users)
    table.add({user.user.empty() ? "-" : user.user, fmt::format("{}", user.jobs),
               format_seconds(user.mean_completion_seconds), fmt::format("{:.1f}", user.mean_slowdown),
               format_seconds(user.device_seconds), fmt::format("{:.2f}", user.finish_time_fairness)});
  fmt::print("\n{}", table.text());
}

}  // namespace

void print_results(const Problem& problem, const place::Bounds& bounds,
                   const std::vector<PolicyResult>& results, bool decisions) {
  if (decisions) print_decisions(problem, results[0].first);
  TextTable table({"policy", "mean JCT", "median", "p95", "slow-down", "makespan", "utilisation", "fairness",
                   "stops", "out of memory"});
  for (const PolicyResult& result : results) {
    const report::PolicyFigures& one = result.figures;
    if (!result.left_out())
      table.add({one.name, format_seconds(one.mean_completion_seconds),
                 format_seconds(one.median_completion_seconds), format_seconds(one.p95_completion_seconds),
                 fmt::format("{:.1f}", one.mean_slowdown), format_seconds(one.makespan_seconds),
                 fmt::format("{:.1f} %", 100 * one.utilisation),
                 one.fairness > 0 ? fmt::format("{:.2f}", one.fairness) : "-",
                 fmt::format("{:.4g}", one.stops), fmt::format("{:.1f}", one.out_of_memory)});
  }
  table.add({"bound", format_seconds(bounds.mean_completion_seconds), "", "", "",
             format_seconds(bounds.makespan_seconds), "", "", "", ""});
  fmt::print("{}", table.text());
  for (const PolicyResult& result : results)
    if (result.left_out()) fmt::print("{}: {}\n", result.figures.name, result.figures.left_out);
  if (decisions) print_users(results[0].first);
}

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
