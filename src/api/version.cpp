#include "trainyard/version.h"

#include <variant>

#include "meter/provenance.h"

namespace trainyard {

Build describe_build() {
  const meter::BuildInfo& info = meter::build_info();
  Build build{.version = info.version,
              .commit = info.commit,
              .compiler = info.compiler,
              .flags = info.flags,
              .build_type = info.build_type,
              .libraries = {}};
  if (*info.changes != '\0') build.commit += "+changes";
  for (const record::Fact& fact : meter::library_facts())
    build.libraries.push_back({fact.key, record::to_text(fact.value)});
  return build;
}

}  // namespace trainyard
