#include <fmt/format.h>

#include "base/philox.h"
#include "meter/build_info.h"
#include "meter/facts.h"

namespace trainyard::meter {

std::string build_id() {
  constexpr std::size_t kCommitDigits = 12;
  const BuildInfo& build = build_info();
  std::string id = std::string(build.commit).substr(0, kCommitDigits);
  if (id.empty()) id = fmt::format("v{}", build.version);
  if (const std::string changes = build.changes; !changes.empty()) id += "+" + changes;
  const std::string made_by = fmt::format("{}\n{}\n{}", build.compiler, build.flags, build.build_type);
  return fmt::format("{}-{:04x}", id, stream_of(made_by.c_str()) & 0xffff);
}

record::Provenance build_facts() {
  FactSection section("build");
  const BuildInfo& build = build_info();
  section.add("id", build_id());
  section.add("version", build.version);
  section.add("compiler", build.compiler);
  section.add("flags", build.flags);
  section.add("build_type", build.build_type);
  if (const std::string commit = build.commit; !commit.empty()) {
    section.add("commit", commit);
    section.add("uncommitted_changes", *build.changes != '\0');
    section.add("commit_seconds", build.commit_seconds);
  }
  return section.take();
}

}  // namespace trainyard::meter
