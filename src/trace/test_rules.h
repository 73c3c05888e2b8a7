#pragma once

#include "base/standard.h"

namespace trainyard::trace {

// Returns the violations in a trace's JSON of the rules of the format that Chrome and Perfetto read, one line
// each, at most 20; empty: none. The rules cover required fields and their types, times that are finite, not
// negative and in order, names of every process and thread, and spans of a track that lie beside or within
// each other.
std::vector<std::string> broken_rules(const std::string& json_text);

}  // namespace trainyard::trace
