#include "study/make_store.h"

#include "study/plan.h"
#include "study/progress.h"
#include "study/study_lock.h"

namespace trainyard::study {

void make_store(const Folder& folder) {
  const Spec spec = read_spec(folder.spec());
  const StudyLock lock(folder);
  store::Store store(folder.store(), store::Store::Access::write);
  store.plan(spec.name, make_plan(spec, [](const record::Settings&) { return ""; }).runs);
  std::vector<std::string> complaints;  // `study collect` tells them
  ingest(folder, store, complaints);
}

}  // namespace trainyard::study
