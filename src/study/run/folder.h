#pragma once

#include <filesystem>
#include <string>

#include "store/store.h"

namespace trainyard::study {

// Where a study keeps its things. Nothing in it is ever overwritten:
//   study.yaml            the file it was made from
//   store.sqlite          every run, for queries; can be made again from the records
//   records/RUN_ID.json   one file a run, written whole or not at all
//   records/RUN_ID.jsonl  runs that were imported together, one a line, the last of them in the name
//   logs/RUN_ID.log       what the run printed; its creation claims the run id
//   slurm/                job scripts, job files and submissions
//   lock                  held while a process runs the study
struct Folder {
  std::filesystem::path path;

  std::filesystem::path spec() const { return path / "study.yaml"; }
  std::filesystem::path store() const { return path / store::Store::file_name(); }
  std::filesystem::path records() const { return path / "records"; }
  std::filesystem::path record(const std::string& run_id) const { return records() / (run_id + ".json"); }
  std::filesystem::path record_lines(const std::string& last_run_id) const {
    return records() / (last_run_id + ".jsonl");
  }
  std::filesystem::path logs() const { return path / "logs"; }
  std::filesystem::path log(const std::string& run_id) const { return logs() / (run_id + ".log"); }
  std::filesystem::path slurm() const { return path / "slurm"; }
};

// Error (usage) when the folder is there, holds something, and that is no study.
void refuse_foreign(const Folder& folder);

// Held by the one process that runs a study. Gone with its process, however that ends.
class StudyLock {
 public:
  // Error (usage) when another process holds it.
  explicit StudyLock(const Folder& folder);
  // Whether some process holds it now.
  static bool is_held(const Folder& folder);
  ~StudyLock();
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;

 private:
  int descriptor_;
};

// Makes the store of a folder from its study's file and records: the store was lost, or it is one of a build
// with another library than SQLite, on whose machine the study ran.
void make_store(const Folder& folder);

}  // namespace trainyard::study
