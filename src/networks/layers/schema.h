#pragma once

#include "base/json.h"

namespace trainyard::networks::layers {

// Returns the JSON schema of files of layers, made of the table of layers. Editors complete and check by it.
Json schema();

}  // namespace trainyard::networks::layers
