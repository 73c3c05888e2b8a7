#include "meter/build_info.h"
#include "meter/facts.h"

namespace trainyard::meter {

record::Provenance build_facts() {
  FactSection section("build");
  const BuildInfo& build = build_info();
  section.add("version", build.version);
  section.add("compiler", build.compiler);
  section.add("flags", build.flags);
  section.add("build_type", build.build_type);
  if (const std::string commit = build.commit; !commit.empty()) {
    section.add("commit", commit);
    section.add("uncommitted_changes", build.uncommitted_changes);
  }
  return section.take();
}

}  // namespace trainyard::meter
