#include "record/provenance.h"

namespace trainyard::record {

const Value* find_fact(const Provenance& facts, const std::string& section, const std::string& key) {
  for (const Fact& fact : facts)
    if (fact.section == section && fact.key == key) return &fact.value;
  return nullptr;
}

}  // namespace trainyard::record
