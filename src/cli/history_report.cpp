#include "base/json.h"
#include "base/text.h"
#include "cli/study.h"

#include "cli/text_table.h"
#include "record/build.h"
#include "report/text.h"
#include "study/cell/settings.h"

namespace trainyard::cli {
namespace {

using stats::Change;
using study::CellHistory;
using study::HistoryPoint;

std::string date_text(double seconds_since_1970) {
  return report::time_text(seconds_since_1970).substr(0, std::strlen("YYYY-MM-DD"));  // the day alone
}

double date_of(const HistoryPoint& point) {
  return point.commit_seconds > 0 ? point.commit_seconds : point.measured_seconds;
}

// Chooses the names under which the report shows cells and builds.
class Names {
 public:
  explicit Names(const HistoryReport& report) {
    std::vector<const record::Settings*> settings;
    std::vector<std::string> builds;
    std::set<std::string> machines;
    for (const CellHistory& cell : report.cells) {
      settings.push_back(&cell.settings);
      machines.insert(cell.machine);
      for (const HistoryPoint& point : cell.points) builds.push_back(point.build);
    }
    settings_ = varying_settings(settings);
    if (settings_.empty() && machines.size() < 2) settings_ = {"network", "batch", "command"};
    several_machines_ = machines.size() > 1;
    const std::vector<std::string> short_builds = record::short_names(builds);
    for (std::size_t i = 0; i < builds.size(); ++i) short_builds_[builds[i]] = short_builds[i];
  }

  std::string cell(const CellHistory& cell) const {
    std::vector<std::string> parts;
    for (const std::string& name : settings_)
      if (const std::string value = study::setting_text(cell.settings, name); !value.empty())
        parts.push_back(fmt::format("{}={}", name, value));
    if (several_machines_) parts.push_back(fmt::format("on {}", cell.machine));
    return joined(parts, " ");
  }
  std::string build(const HistoryPoint& point) const {
    const std::string& name = short_builds_.at(point.build);
    return fmt::format("{} ({})", name.empty() ? "unnamed" : name, date_text(date_of(point)));
  }
  const std::vector<std::string>& settings() const { return settings_; }

 private:
  std::vector<std::string> settings_;
  bool several_machines_ = false;
  std::map<std::string, std::string> short_builds_;
};

std::string percent_text(const Change& change) {
  return fmt::format("{:+.1f} %", 100 * (change.ratio() - 1));
}

const char* verdict_of(const Change& change, const record::Metric& metric) {
  return (change.ratio() > 1) == metric.more_is_better ? metric.better() : metric.worse();
}

// Draws the levels in eight heights; the lowest and the highest are apart by at least a tenth.
std::string spark_line(const CellHistory& cell) {
  constexpr const char* kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kMostBuilds = 60;
  const std::size_t first = cell.points.size() > kMostBuilds ? cell.points.size() - kMostBuilds : 0;
  double low = INFINITY, high = 0;
  for (std::size_t i = first; i < cell.points.size(); ++i) {
    low = std::min(low, cell.points[i].value);
    high = std::max(high, cell.points[i].value);
  }
  const double middle = (low + high) / 2, span = std::max(high - low, middle / 10);
  std::string line;
  for (std::size_t i = first; i < cell.points.size(); ++i) {
    const double height = (cell.points[i].value - middle) / span + 0.5;
    line += kHeights[std::clamp(static_cast<int>(height * 8), 0, 7)];
  }
  return line;
}

// A word for the shell, in quotes where it must be.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns the commands that find the commit between the two builds, or one line that says why there are none.
// Every commit is measured in a folder of its own and compared with the last good build by today's program,
// because older ones may judge otherwise.
std::vector<std::string> bisect_commands(const CellHistory& cell, const Change& change,
                                         const HistoryReport& report, const Names& names) {
  const HistoryPoint &good = cell.points[change.last_before], &bad = cell.points[change.first_after];
  const std::string good_commit = record::commit_in(good.build), bad_commit = record::commit_in(bad.build);
  if (good_commit.empty() || bad_commit.empty() || good_commit == bad_commit)
    return {"# git cannot bisect: the builds are not called by two commits"};
  namespace fs = std::filesystem;
  const bool is_program = study::setting_text(cell.settings, "command") == "program";
  const std::string kept = "results/trainyard-now";
  const std::string runner =
      is_program ? shell_word(process::own_program().string()) : "build/release/trainyard";
  const std::string judge = is_program ? runner : kept;
  std::string build = report.bisect_build;
  if (build.empty() && !is_program) build = "cmake --build --preset release --target trainyard_cli";
  std::string sets;
  for (const std::string& name : names.settings())
    if (const auto setting = cell.settings.find(name); setting != cell.settings.end() && name != "command")
      sets +=
          fmt::format(" --set {}", shell_word(fmt::format("{}={}", name, record::to_text(setting->second))));
  const fs::path folder = fs::absolute(good.source).lexically_normal();
  std::string script;
  if (!build.empty()) script += fmt::format("{} || exit 125; ", build);
  script += fmt::format(
      "out=results/bisect-$(git rev-parse --short HEAD); {} study run {}{} --out $out --quiet{} >/dev/null "
      "|| exit 125; ",
      runner, shell_word((folder / "study.yaml").string()), sets,
      is_program ? " --build $(git rev-parse HEAD)" : "");
  script += fmt::format("{} compare {} $out --build {} --metric {} --minimum-effect {}; ", judge,
                        shell_word(folder.string()), shell_word(good.build), report.metric.name,
                        report.minimum_effect);
  script += "case $? in 0) exit 0;; 3) exit 1;; *) exit 125;; esac";
  std::vector<std::string> commands;
  if (!is_program)
    commands.push_back(
        fmt::format("mkdir -p results && cp {} {}", shell_word(process::own_program().string()), kept));
  commands.push_back(fmt::format("git bisect start {} {}", bad_commit, good_commit));
  commands.push_back(fmt::format("git bisect run sh -c {}", shell_word(script)));
  return commands;
}

struct Regression {
  const CellHistory* cell;
  const Change* change;
};

// Lists the newest first.
std::vector<Regression> regressions_of(const HistoryReport& report) {
  std::vector<Regression> found;
  for (const CellHistory& cell : report.cells)
    for (const Change& change : cell.changes)
      if (cell.is_regression(change, report.metric)) found.push_back({&cell, &change});
  std::stable_sort(found.begin(), found.end(), [](const Regression& a, const Regression& b) {
    return date_of(a.cell->points[a.change->at]) > date_of(b.cell->points[b.change->at]);
  });
  return found;
}

std::string changes_text(const CellHistory& cell, const HistoryReport& report, const Names& names) {
  if (cell.changes.empty()) return cell.points.size() < 2 ? "one build" : "none";
  std::vector<std::string> texts;
  for (const Change& change : cell.changes)
    texts.push_back(fmt::format("{} {} at {}", verdict_of(change, report.metric), percent_text(change),
                                names.build(cell.points[change.at])));
  return joined(texts, ", ");
}

Json json_of(const CellHistory& cell, const Change& change, const record::Metric& metric) {
  return {{"build", cell.points[change.at].build},
          {"last_before", cell.points[change.last_before].build},
          {"first_after", cell.points[change.first_after].build},
          {"verdict", verdict_of(change, metric)},
          {"before", change.before},
          {"after", change.after},
          {"ratio", change.ratio()},
          {"p_value", change.p_value},
          {"lasts", cell.is_regression(change, metric)}};
}

}  // namespace

int count_regressions(const HistoryReport& report) { return static_cast<int>(regressions_of(report).size()); }

void print_history(const HistoryReport& report) {
  const Names names(report);
  TextTable table({"cell", "builds", "runs", "first", "last", "changes", "levels"});
  bool few_builds = false;
  for (const CellHistory& cell : report.cells) {
    std::size_t runs = 0;
    for (const HistoryPoint& point : cell.points) runs += point.runs.size();
    table.add({names.cell(cell), fmt::format("{}", cell.points.size()), fmt::format("{}", runs),
               four_digits(cell.points.front().value), four_digits(cell.points.back().value),
               changes_text(cell, report, names), spark_line(cell)});
    few_builds = few_builds || (!cell.changes.empty() && cell.points.size() < stats::kBuildsThatShowWobble);
  }
  fmt::print("{}, steps of {:.3g} % and more\n\n{}", report.metric.name, 100 * report.minimum_effect,
             table.text());
  if (few_builds)
    fmt::print(
        "\nfewer than {} builds cannot show how much the machine differs from day to day: these changes rest "
        "on runs alone\n",
        stats::kBuildsThatShowWobble);
  const std::vector<Regression> regressions = regressions_of(report);
  for (const Regression& regression : regressions) {
    const auto& [cell, change] = regression;
    fmt::print("\n{} {}  {}: {} -> {}, between {} and {}, p = {:.2g}\n", verdict_of(*change, report.metric),
               percent_text(*change), names.cell(*cell), four_digits(change->before),
               four_digits(change->after), names.build(cell->points[change->last_before]),
               names.build(cell->points[change->first_after]), change->p_value);
    for (const std::string& line : bisect_commands(*cell, *change, report, names)) fmt::print("  {}\n", line);
  }
  fmt::print("\n{} regression{} that last{}\n", regressions.size(), regressions.size() == 1 ? "" : "s",
             regressions.size() == 1 ? "s" : "");
}

Json history_json(const HistoryReport& report) {
  const Names names(report);
  Json cells = Json::array(), regressions = Json::array();
  for (const CellHistory& cell : report.cells) {
    Json points = Json::array(), changes = Json::array();
    for (const HistoryPoint& point : cell.points) {
      Json values = Json::array();
      for (const record::MeasuredRun& run : point.runs) values.push_back(run.value);
      points.push_back(
          {{"build", point.build},
           {"source", point.source},
           {"commit_seconds", point.commit_seconds > 0 ? Json(point.commit_seconds) : Json(nullptr)},
           {"measured_seconds", point.measured_seconds},
           {"value", point.value},
           {"values", values}});
    }
    for (const Change& change : cell.changes) changes.push_back(json_of(cell, change, report.metric));
    cells.push_back({{"label", names.cell(cell)},
                     {"settings", parse_json(record::to_json(cell.settings))},
                     {"machine", cell.machine},
                     {"points", points},
                     {"changes", changes}});
  }
  for (const auto& [cell, change] : regressions_of(report)) {
    Json row = {{"label", names.cell(*cell)}};
    row.update(json_of(*cell, *change, report.metric));
    row["bisect"] = bisect_commands(*cell, *change, report, names);
    regressions.push_back(std::move(row));
  }
  return {{"metric", report.metric.name},
          {"minimum_effect", report.minimum_effect},
          {"cells", cells},
          {"regressions", regressions}};
}

}  // namespace trainyard::cli
