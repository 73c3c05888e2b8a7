#pragma once

namespace CLI {
class App;
}

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "study/cell/cost.h"
#include "study/run/folder.h"
#include "study/run/progress.h"
#include "study/spec/plan.h"

namespace trainyard::cli {

// A study's file, with settings, and the name of the build, that the command line puts in place of the
// file's.
study::Spec read_study(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const std::string& build = "");

void add_measured_build_option(CLI::App& command, std::string& build);

void add_study_options(CLI::App& command, std::filesystem::path& file, std::filesystem::path& out,
                       std::vector<std::string>& overrides);

// "2/8", for plans that several machines share; "": all of it.
void add_shard_option(CLI::App& command, std::string& shard);

study::Plan share_of(study::Plan plan, const std::string& shard);

// The build whose runs a command looks at, named by its beginning; "": that of the last run.
void add_build_option(CLI::App& command, std::string& build);

study::StudyProgress progress_of_build(const study::Folder& folder, const std::string& build);

// Prints one line on standard error for each reason why cells can never run; returns the number of such
// cells.
std::int64_t report_impossible(const study::Spec& spec, const study::Plan& plan);

// Returns the folder in which a study keeps its runs: `out`, or results/NAME when `out` is empty.
study::Folder folder_of(const study::Spec& spec, const std::filesystem::path& out);

// A folder given on the command line; Error (usage) when it holds no study.
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

}  // namespace trainyard::cli
