#pragma once

#include "study/folder.h"

namespace trainyard::study {

// Makes the store of a folder from its study's file and records: the store was lost, or it is one of a build
// with another library than SQLite, on whose machine the study ran.
void make_store(const Folder& folder);

}  // namespace trainyard::study
