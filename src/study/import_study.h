#pragma once

#include <string>
#include <vector>

#include "record/run_record.h"
#include "study/folder.h"

namespace trainyard::study {

// Error (usage) when imported runs must not go into the folder: it holds a study of own runs, which they
// would change, or something that is no study.
void refuse_to_import(const Folder& folder);

// Keeps runs that were measured elsewhere as a study of this name, each expected once. Returns how many were
// not there yet. Errors as above.
int import_study(const Folder& folder, const std::string& name, const std::vector<record::RunRecord>& runs);

}  // namespace trainyard::study
