#pragma once

#include "base/standard.h"

namespace trainyard::report {

// Text as HTML shows it, in elements and in quoted attributes.
std::string html_text(std::string_view text);

// Returns a path as the address of a link has it: what is no letter, digit or one of /._-~ by its number.
std::string address_of(const std::filesystem::path& path);

// JSON that may stand inside a <script> element: no "<" can end it or open a comment in it.
std::string json_in_script(std::string_view json);

// Program text that may stand inside a <script> element; without the address of a source map, which a
// browser's tools would load.
std::string program_in_script(std::string_view program);

// For people, three figures or more: "12,346", "345.7", "1.23", "0.0456".
std::string number_text(double number);
// A share as "12.3 %".
std::string percent_text(double share);
// "1 run", "3 runs".
std::string count_text(long long count, const std::string& noun);
// "tasks_per_node" as people write it: "tasks per node".
std::string spaced(std::string name);
// UTC, "2026-03-04 15:06".
std::string time_text(double seconds_since_1970);

}  // namespace trainyard::report
