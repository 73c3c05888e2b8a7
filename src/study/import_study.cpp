#include "study/import_study.h"

#include "base/file.h"
#include "study/plan.h"
#include "study/progress.h"
#include "study/study_lock.h"

namespace trainyard::study {

int import_study(const Folder& folder, const std::string& name, const std::vector<record::RunRecord>& runs) {
  refuse_foreign(folder);
  for (const std::filesystem::path& path : {folder.path, folder.records()}) make_folders(path);
  const StudyLock lock(folder);
  store::Store store(folder.store(), store::Store::Access::write);
  std::vector<store::PlannedRun> planned = store.planned();
  int added = 0;
  for (record::RunRecord run : runs) {
    run.study = name;
    if (run.cell.empty()) run.cell = content_hash("import\n" + record::to_json(run.asked));
    if (store.contains(run.id)) continue;
    planned.push_back({static_cast<std::int64_t>(planned.size()), run.cell, run.replicate, run.asked});
    record::write_run_record(run, folder.record(run.id));
    added += store.add(run) ? 1 : 0;
  }
  store.plan(name, planned);
  return added;
}

}  // namespace trainyard::study
