#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/run_record.h"

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

}  // namespace trainyard::study
