#pragma once

#include <string>
#include <vector>

#include "record/value.h"

namespace trainyard::record {

// One fact that the program found out by itself: {"cpu", "model", "Intel(R) Xeon(R) ..."}.
struct Fact {
  std::string section, key;
  Value value;
};

using Provenance = std::vector<Fact>;

// Something that makes a measurement less trustworthy; the run still counts.
struct Warning {
  std::string kind;  // load, steal, frequency, throttle, cores, clock, ...
  std::string text;  // one line for people
};

// The fact, or null.
const Value* find_fact(const Provenance& facts, const std::string& section, const std::string& key);

}  // namespace trainyard::record
