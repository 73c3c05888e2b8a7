#include "ensemble/summary.h"

#include "base/cores.h"
#include "base/json.h"

namespace trainyard::ensemble {

namespace {

Json to_row(const record::RunRecord& run) {
  Json row{{"member", run.words.at("member")},
           {"status", name(run.status)},
           {"images_per_second", run.images_per_second ? Json(*run.images_per_second) : Json(nullptr)}};
  static constexpr record::NumberName kShown[] = {
      "images_consumed", "images_made",          "images_skipped",         "input_wait_seconds", "seconds",
      "startup_seconds", "process_user_seconds", "process_system_seconds", "final_step",         "first_loss",
      "final_loss",      "test_accuracy",        "member_number"};
  static constexpr record::DetailName kShownDetails[] = {"threads", "queues"};
  for (const record::NumberName figure : kShown)
    if (const auto found = run.figures.find(figure);
        found != run.figures.end() && std::isfinite(found->second))
      row[figure.text()] = found->second;
  if (const auto found = run.words.find("gpu_copy"); found != run.words.end())
    row["gpu_copy"] = found->second;
  for (const record::DetailName detail : kShownDetails)
    if (const auto found = run.details.find(detail); found != run.details.end())
      row[detail.text()] = parse_json(found->second);
  return row;
}

void add_energy(record::RunRecord& run, const EnsembleUse& use, double images) {
  if (use.energy.processor_joules) run.figures["processor_energy_joules"] = *use.energy.processor_joules;
  if (use.energy.gpu_joules) run.figures["gpu_energy_joules"] = *use.energy.gpu_joules;
  run.figures["energy_joules"] = use.energy.joules();
  run.figures["power_watts"] = use.energy.joules() / use.seconds;
  if (images > 0) run.figures["energy_joules_per_image"] = use.energy.joules() / images;
  if (use.idle_watts <= 0) return;
  const double above = use.energy.joules() - use.idle_watts * use.seconds;
  run.figures["idle_power_watts"] = use.idle_watts;
  run.figures["energy_above_idle_joules"] = above;
  if (images > 0) run.figures["energy_above_idle_joules_per_image"] = above / images;
}

// The ensemble ends as a member that was interrupted, else as one whose loss diverged, else well.
void take_over_end(const record::RunRecord& member, record::RunRecord& run) {
  if (member.status == record::Status::interrupted) {
    run.status = member.status;
    run.reason = member.reason;
    run.exit_code = 0;
  } else if (member.status == record::Status::diverged && run.status == record::Status::ok) {
    run.status = member.status;
    run.reason = fmt::format("member {:.0f}: {}", member.figure_or("member_number", 0), member.reason);
    run.exit_code = member.exit_code;
  }
}

// As the file and the options say it together.
record::Settings settings_of(const EnsembleOptions& options, const EnsembleSpec& spec) {
  record::Settings asked = asked_of(spec.members.front().run);
  EnsembleOptions settled = options;
  settled.design = name(spec.design);
  settled.members = static_cast<int>(spec.members.size());
  settled.preprocessors = spec.preprocessors;
  run::add_asked("ensemble", settled, asked);
  asked["preprocess"] = spec.preprocess.name;
  return asked;
}

std::vector<std::string> nodes_of(const EnsembleParts& parts) {
  std::vector<std::string> nodes;
  for (const auto& member : parts.members)
    if (member) nodes.push_back(member->node);
  return nodes;
}

}  // namespace

double accuracy_of(const record::RunRecord& run) { return run.figure_or("test_accuracy", std::nan("")); }

EnsembleParts read_parts(const std::filesystem::path& results, const EnsembleSpec& spec) {
  EnsembleParts parts;
  std::vector<Votes> votes;
  for (int i = 0; i < static_cast<int>(spec.members.size()); ++i) {
    const std::filesystem::path folder = member_folder(results, i),
                                record = folder / train::RunFolder::kRecord;
    auto& member = parts.members.emplace_back();
    if (!std::filesystem::exists(record)) continue;
    member = record::read_run_record(record);
    if (std::isfinite(accuracy_of(*member))) votes.push_back(read_votes(folder / kVotesFile));
  }
  if (std::filesystem::exists(results / kPreprocessorRecord))
    parts.preprocessor = record::read_run_record(results / kPreprocessorRecord);
  if (!votes.empty()) parts.vote = count_votes(votes);
  return parts;
}

record::RunRecord summarize(const EnsembleParts& parts, const EnsembleSpec& spec,
                            const EnsembleOptions& options, const run::RunStart& start,
                            const EnsembleUse& use) {
  const run::RunOptions& first = spec.members.front().run;
  record::RunRecord run = begin_record("ensemble", start, settings_of(options, spec), first, {});
  run.words["ensemble"] = spec.name;
  Json rows = Json::array();
  double user = 0, system = 0, consumed = 0, made = 0, skipped = 0, slowest = 0, sum = 0, best = std::nan("");
  int lost = 0, rated = 0;
  const auto add = [&](const record::RunRecord& part) {
    user += part.figure_or("process_user_seconds", 0);
    system += part.figure_or("process_system_seconds", 0);
    consumed += part.figure_or("images_consumed", 0);
    made += part.figure_or("images_made", 0);
    skipped += part.figure_or("images_skipped", 0);
    rows.push_back(to_row(part));
  };
  for (const auto& member : parts.members) {
    if (!member) {
      ++lost;
      continue;
    }
    add(*member);
    if (member->images_per_second) {
      slowest = rated == 0 ? *member->images_per_second : std::min(slowest, *member->images_per_second);
      sum += *member->images_per_second;
      ++rated;
    }
    best = std::fmax(best, accuracy_of(*member));
    take_over_end(*member, run);
  }
  if (parts.preprocessor) add(*parts.preprocessor);
  // The ensemble's pace is the mean speed of its members.
  if (rated > 0) run.images_per_second = sum / rated;
  run.figures["slowest_images_per_second"] = slowest;
  run.figures["total_images_per_second"] = sum;
  run.figures["members_lost"] = lost;
  run.figures["cpu_user_seconds"] = user;
  run.figures["cpu_system_seconds"] = system;
  run.figures["cpu_seconds"] = user + system;
  run.figures["images_consumed"] = consumed;
  run.figures["images_made"] = made;
  run.figures["images_skipped"] = skipped;
  if (consumed > 0) run.figures["cpu_seconds_per_image"] = (user + system) / consumed;
  if (parts.vote) {
    run.figures["vote_mean_probability"] = parts.vote->mean_probability;
    run.figures["vote_majority"] = parts.vote->majority;
    run.figures["best_member_accuracy"] = best;
  }
  run.figures["cores_allowed"] = static_cast<double>(process_cores().size());
  if (use.energy.known()) add_energy(run, use, consumed);
  if (use.gpu_busy_fraction) run.figures["gpu_busy_fraction"] = *use.gpu_busy_fraction;
  run.details["members"] = json_text(rows);
  run::add_hosts(run, nodes_of(parts));
  run::warn_of_refused_isa(run);
  return run;
}

}  // namespace trainyard::ensemble
