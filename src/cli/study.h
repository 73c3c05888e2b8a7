#pragma once

#include "analyze/analysis.h"
#include "cli/command.h"
#include "record/cell_summary.h"
#include "record/comparison.h"
#include "study/cell/cost.h"
#include "study/run/folder.h"
#include "study/run/history.h"
#include "study/run/progress.h"
#include "study/spec/plan.h"

namespace trainyard {
class Json;
}

namespace trainyard::cli {

// A study's file, with settings, and the name of the build, that the command line puts in place of the
// file's.
study::Spec read_study(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const std::string& build = "");

void add_measured_build_option(Command& command, std::string& build);

void add_study_options(Command& command, std::filesystem::path& file, std::filesystem::path& out,
                       std::vector<std::string>& overrides);

// "2/8", for plans that several machines share; "": all of it.
void add_shard_option(Command& command, std::string& shard);

study::Plan share_of(study::Plan plan, const std::string& shard);

// The build whose runs a command looks at, named by its beginning; "": that of the last run.
void add_build_option(Command& command, std::string& build);

study::StudyProgress progress_of_build(const study::Folder& folder, const std::string& build);

// Prints one line on standard error for each reason why cells can never run; returns the number of such
// cells.
std::int64_t report_impossible(const study::Spec& spec, const study::Plan& plan);

// Returns the folder in which a study keeps its runs: `out`, or results/NAME when `out` is empty.
study::Folder folder_of(const study::Spec& spec, const std::filesystem::path& out);

// Returns a folder given on the command line; Error (usage) when it holds no study.
study::Folder existing_folder(const std::filesystem::path& path);

// Returns the names of the settings that differ between cells, in alphabetical order.
std::vector<std::string> varying_settings(const std::vector<const record::Settings*>& cells);

// Names the runs of a study for people by the settings in which its cells differ, as "batch=4 strategy=bsp";
// cells that do not differ are named by network and batch. With several replicates, the name also has the
// replicate.
class RunLabels {
 public:
  RunLabels(const std::vector<const record::Settings*>& cells, int replicates);

  std::string of(const record::Settings& settings) const;  // of a cell
  std::string of(const record::Settings& settings, int replicate) const;
  std::string of(const record::RunRecord& run) const { return of(run.asked, run.replicate); }
  std::string with_id(const record::RunRecord& run) const;  // "batch=4 (HASH-r1-a1)"

 private:
  std::vector<std::string> names_;
  int replicates_;
};

// One cell of a study and what its runs came to.
struct CellProgress {
  std::string cell, label;
  record::Settings settings;
  std::int64_t expected = 0, done = 0, warnings = 0;
  std::optional<record::CellSummary> images_per_second;  // over its runs; none: no run has a speed
};
std::vector<CellProgress> summarize_cells(const study::StudyProgress& progress);  // in the order of the plan

// Tells the runs of a study apart by their settings.
RunLabels labels_of(const study::StudyProgress& progress);

// Prints the cells with their speeds, then what is not done and why, then one line of counts.
void print_progress(const study::StudyProgress& progress);
void print_totals(const study::StudyProgress& progress);  // that line alone
Json progress_json(const study::StudyProgress& progress);

// Returns one line of text, or "" when nodes do not differ.
std::string node_effects_text(const record::NodeEffects& effects);

// Prints short tables.
void print_analysis(const analyze::Analysis& analysis);
void print_comparison(const analyze::SystemComparison& comparison, const record::Comparison& verdicts);

// Returns the same and every point, in the format of docs/formats/analysis.md.
Json analysis_json(const analyze::Analysis& analysis);
Json comparison_json(const analyze::SystemComparison& comparison, const record::Comparison& verdicts);

struct HistoryReport {
  std::vector<study::CellHistory> cells;
  record::Metric metric;
  double minimum_effect = 0.03;
  std::string bisect_build;  // command that builds a commit; "": the default
};

// Returns the number of regressions that last.
int count_regressions(const HistoryReport& report);

// Prints a table of the cells with their levels and changes, then the regressions with the commands that find
// their commits.
void print_history(const HistoryReport& report);
Json history_json(const HistoryReport& report);

}  // namespace trainyard::cli
