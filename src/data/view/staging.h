#pragma once

#include "base/progress.h"
#include "data/get/scratch_folder.h"
#include "data/source/dataset.h"
#include "data/source/get_dataset.h"
#include "process/stop_request.h"

namespace trainyard::data {

enum class StagingTarget {
  local,   // a disk of this node: $SLURM_TMPDIR, $LOCAL, $TMPDIR or /tmp
  memory,  // a tmpfs: /dev/shm
};

struct StagingOptions {
  StagingTarget target = StagingTarget::local;
  std::filesystem::path folder;  // in which the run's own folder is made; empty: the target's default
  ProgressListener* progress = nullptr;
};

struct StagingReport {
  std::filesystem::path folder;
  std::string filesystem;         // of that folder: tmpfs, ext, xfs, ...
  std::vector<CachedFile> files;  // verified; named as below the root of the source
  std::int64_t bytes = 0;
  double seconds = 0, verify_seconds = 0;  // of both copying and verifying; of verifying alone
  double source_cached_fraction = 0;       // of the bytes, those in the page cache before the copy

  // The SHA-256 of what `sha256sum` prints of the files in the order of their names.
  std::string sum_of_sums() const;
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

// Holds a copy of a data set's files for one run, in a folder of its own. Each file is read back and must
// have the SHA-256 of its source, which must have that of the manifest where the source folder has one. The
// destructor removes the folder; the next run in the same place removes the folder of a killed run. While
// this object lives, signals only request a stop: long work must check StopRequest.
class StagedFiles {
 public:
  // Error (config) when the source or the folder is not as it should be; Error (io) when there is no room,
  // when a file of the source changes or vanishes, or when copying fails.
  StagedFiles(const std::string& dataset, const DatasetFiles& source, const StagingOptions& options);

  const std::filesystem::path& root() const { return root_; }  // the copy of the source's root
  const StagingReport& report() const { return report_; }

 private:
  process::StopRequest guard_;
  data::ScratchFolder scratch_;
  std::filesystem::path root_;
  StagingReport report_;
};

}  // namespace trainyard::data
