#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_record.h"
#include "study/run/folder.h"

namespace trainyard::study {

// Measurements that others published: PSC's job outputs, ParaDnn's JSON and the CSV of its re-make, each told
// by what it holds. Folders are searched; in them anything else is passed over. Runs that asked for the same
// are replicates of each other. Error (config) names a path that cannot be read, is damaged, or was named and
// is none of these.
// `left_out`, if any, gets every file that no run is of.
struct LeftOut {
  std::filesystem::path file;
  std::string reason;
};
std::vector<record::RunRecord> import_published(const std::vector<std::filesystem::path>& paths,
                                                std::vector<LeftOut>* left_out = nullptr);

// A CSV of FC sweeps of ParaDnn's PyTorch re-make (github.com/cissieAB/pytorch-paradnn).
bool is_remake(std::string_view text);

// One record a row; a second row of the same point is its next replicate. Duration 0 is a point that ran out
// of memory. Error (config) names file and line of a damaged row.
std::vector<record::RunRecord> import_remake(const std::string& file, std::string_view text);

// Error (usage) when imported runs must not go into the folder: it holds a study of own runs, which they
// would change, or something that is no study.
void refuse_to_import(const Folder& folder);

// Keeps runs that were measured elsewhere as a study of this name, each expected once. Returns how many were
// not there yet. Errors as above.
int import_study(const Folder& folder, const std::string& name, const std::vector<record::RunRecord>& runs);

}  // namespace trainyard::study
