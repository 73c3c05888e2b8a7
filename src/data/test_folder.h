#pragma once

// For tests only.

#include "base/test_folder.h"

namespace trainyard::data {

using trainyard::expect_error;
using trainyard::TestFolder;

}  // namespace trainyard::data
