#include "cli/study_options.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/predict.h"
#include "predict/read_predictor.h"
#include "record/build.h"
#include "run/choices.h"
#include "study/cell/settings.h"
#include "study/run/folder.h"

namespace trainyard::cli {

study::Spec read_study(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const std::string& build) {
  study::Spec spec = study::read_spec(file, run::choices_of);
  if (!build.empty()) spec.build = build;
  for (const std::string& assignment : overrides) study::override_setting(spec, assignment, run::choices_of);
  return spec;
}

void add_study_options(CLI::App& command, std::filesystem::path& file, std::filesystem::path& out,
                       std::vector<std::string>& overrides) {
  command.add_option("file", file, "The study's YAML file")->required()->type_name("FILE");
  command.add_option("--out,-o", out, "The study's folder (default: results/NAME)")->type_name("DIR");
  command.add_option("--set", overrides, "A setting in place of the file's; may be given several times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_measured_build_option(CLI::App& command, std::string& build) {
  command
      .add_option(
          "--build", build,
          "What is measured, for studies of programs: a commit, say. Runs of other builds are kept and "
          "do not count (default: this trainyard's own build)")
      ->type_name("NAME");
}

void add_shard_option(CLI::App& command, std::string& shard) {
  command
      .add_option("--shard", shard,
                  "The K-th of N equal shares of the cells, so that N machines can share the study")
      ->type_name("K/N");
}

study::Plan share_of(study::Plan plan, const std::string& shard) {
  if (shard.empty()) return plan;
  study::Plan share = study::take_shard(plan, study::parse_shard(shard));
  if (share.cells.empty())
    fail(ErrorKind::usage, "--shard {}: the study has {} cells, so this share has none", shard,
         plan.cells.size());
  return share;
}

void add_build_option(CLI::App& command, std::string& build) {
  command
      .add_option("--build", build,
                  "The build whose runs to look at, or the beginning of its name (default: that of the last "
                  "run); builds are never pooled")
      ->type_name("BUILD");
}

study::StudyProgress progress_of_build(const study::Folder& folder, const std::string& build) {
  if (build.empty()) return study::progress_of(folder);
  return study::progress_of(folder, record::find_build(build, record::builds_of(study::runs_of(folder))));
}

std::int64_t report_impossible(const study::Spec& spec, const study::Plan& plan) {
  std::map<std::string, std::int64_t> reasons;
  for (const study::Cell& cell : plan.cells)
    if (!cell.refused.empty()) ++reasons[cell.refused];
  std::int64_t cells = 0;
  for (const auto& [reason, count] : reasons) {
    fmt::print(stderr, "trainyard: {}: {}: {} of {} cells can never run\n", spec.file, reason, count,
               plan.cells.size());
    cells += count;
  }
  return cells;
}

study::Folder folder_of(const study::Spec& spec, const std::filesystem::path& out) {
  // Runs are started with absolute paths: a cluster's job begins in a folder of its own.
  return {std::filesystem::absolute(out.empty() ? std::filesystem::path("results") / spec.name : out)
              .lexically_normal()};
}

study::Folder existing_folder(const std::filesystem::path& path) {
  const study::Folder folder{std::filesystem::absolute(path).lexically_normal()};
  if (!std::filesystem::exists(folder.store()) && std::filesystem::exists(folder.spec()))
    study::make_store(folder);
  if (!std::filesystem::exists(folder.store()))
    fail(ErrorKind::usage, "'{}' is not the folder of a study: there is no {} in it", path.string(),
         folder.store().filename().string());
  return folder;
}

std::vector<std::string> varying_settings(const std::vector<const record::Settings*>& cells) {
  std::map<std::string, std::set<std::string>> values;
  for (const record::Settings* cell : cells)
    for (const auto& [name, value] : *cell) values[name];
  for (auto& [name, seen] : values)
    for (const record::Settings* cell : cells) seen.insert(study::setting_text(*cell, name));
  std::vector<std::string> names;
  for (const auto& [name, seen] : values)
    if (seen.size() > 1) names.push_back(name);
  return names;
}

RunLabels::RunLabels(const std::vector<const record::Settings*>& cells, int replicates)
    : names_(varying_settings(cells)), replicates_(replicates) {
  if (names_.empty()) names_ = {"network", "batch"};
}

std::string RunLabels::of(const record::Settings& settings) const {
  std::vector<std::string> parts;
  for (const std::string& name : names_)
    if (const std::string value = study::setting_text(settings, name); !value.empty())
      parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string RunLabels::of(const record::Settings& settings, int replicate) const {
  const std::string cell = of(settings);
  if (replicates_ < 2 && !cell.empty()) return cell;
  return fmt::format("{}{}run {}", cell, cell.empty() ? "" : ", ", replicate);
}

std::string RunLabels::with_id(const record::RunRecord& run) const {
  return fmt::format("{} ({})", of(run), run.id);
}

}  // namespace trainyard::cli
