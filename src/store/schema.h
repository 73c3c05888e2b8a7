#pragma once

#include "store/database.h"

namespace trainyard::store {

// Version of the schema that this program writes.
int newest_schema();

// Brings a file of any older version, or an empty one, to the newest. Error (config) when it is newer.
void migrate(Database& database);

// Error (config) when the file is newer, or is a database of something else.
void check_readable(Database& database);

}  // namespace trainyard::store
