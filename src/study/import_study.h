#pragma once

#include <string>
#include <vector>

#include "record/run_record.h"
#include "study/folder.h"

namespace trainyard::study {

// Keeps runs that were measured elsewhere as a study of this name, each expected once. Returns how many were
// not there yet. Error (usage) when the folder holds another study or something else.
int import_study(const Folder& folder, const std::string& name, const std::vector<record::RunRecord>& runs);

}  // namespace trainyard::study
