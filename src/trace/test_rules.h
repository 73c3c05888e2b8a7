#pragma once

#include <string>
#include <vector>

namespace trainyard::trace {

// What is wrong with a trace's JSON by the rules of the format that Chrome and Perfetto read, one line each;
// at most 20. Empty: nothing. Required fields and their types, times that are finite, not negative and in
// order, names of every process and thread, spans of a track that lie beside or within each other.
std::vector<std::string> broken_rules(const std::string& json_text);

}  // namespace trainyard::trace
