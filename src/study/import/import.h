#pragma once

#include "record/run_record.h"
#include "study/run/folder.h"

namespace trainyard::study {

// import_published() reads published measurements: PSC's job outputs, ParaDnn's JSON and the CSV of its
// re-make, each recognised by its content. It searches folders and skips all other files in them. Runs with
// the same request are replicates of each other. Error (config) names a path that cannot be read, is damaged,
// or was named and is none of these. `left_out`, if any, receives every file without a run.
struct LeftOut {
  std::filesystem::path file;
  std::string reason;
};
std::vector<record::RunRecord> import_published(const std::vector<std::filesystem::path>& paths,
                                                std::vector<LeftOut>* left_out = nullptr);

// Recognises a CSV of FC sweeps of ParaDnn's PyTorch re-make (github.com/cissieAB/pytorch-paradnn).
bool is_remake(std::string_view text);

// Makes one record for each row; a second row of the same point is its next replicate. Duration 0 means that
// the point ran out of memory. Throws Error (config) naming file and line of a damaged row.
std::vector<record::RunRecord> import_remake(const std::string& file, std::string_view text);

// Throws Error (usage) when imported runs must not go into the folder: it holds a study of own runs, which
// they would change, or something that is no study.
void refuse_to_import(const Folder& folder);

// Keeps runs that were measured elsewhere as a study of this name, each expected once. Returns the number of
// new ones. Throws as refuse_to_import does.
int import_study(const Folder& folder, const std::string& name, const std::vector<record::RunRecord>& runs);

}  // namespace trainyard::study
