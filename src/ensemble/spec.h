#pragma once

#include "base/device_spec.h"
#include "data/recipe/preprocess.h"
#include "data/source/record_set.h"
#include "ensemble/stream_part.h"
#include "run/run_options.h"
#include "run/train_options.h"

namespace trainyard::ensemble {

// A MemberSpec is one network of an ensemble, or one that is only timed.
struct MemberSpec {
  run::RunOptions run;  // as `train` takes them
  // It trains nothing, and takes as long as such a device would; 0: no time at all.
  std::optional<double> images_per_second;
  std::optional<std::uint64_t> mirror_seed;

  bool is_on_gpu() const { return !is_timed() && run.device.is_gpu(); }
  bool is_timed() const { return images_per_second.has_value(); }
  std::string name() const;  // "lenet", "timed at 300 images/s"
};

// An ensemble's file, read and checked. docs/formats/ensemble.md describes it.
struct EnsembleSpec {
  std::string file;  // as the user named it
  std::string name, about;
  std::filesystem::path data;
  std::string train_split = "train", test_split;  // empty: "test", if there is one
  data::PreprocessOptions preprocess;
  Design design = Design::shared_memory;
  int preprocessors = 0;  // 0: as many as the design needs
  int threads = 0;        // of each that preprocesses; 0: one for each core it may use
  std::int64_t block = 32, made_images = 512, ahead_images = 512;
  std::int64_t queue_bytes = 0;  // of each queue; 0: any
  std::int64_t window = 0;
  std::uint64_t seed = 1;
  double epochs = 1;
  std::int64_t steps = 0;  // 0: by epochs
  data::Damage damage = data::Damage::skip;
  Patience patience;
  bool one_gpu_copy = true;  // of each sample to each GPU, for all members there that read in place
  std::int64_t checkpoint_every = 500;
  int keep = 2;
  std::vector<MemberSpec> members;
  std::vector<int> left_out;  // members that were lost, by their number

  std::vector<int> taking_part() const;  // the numbers of the others
  bool shares_gpu_copies() const { return one_gpu_copy && design == Design::shared_memory; }
};

// Error (config) with file, line and column.
EnsembleSpec read_ensemble(const std::filesystem::path& file);

EnsembleSpec parse_ensemble(const std::string& text, const std::string& file_name);

// EnsembleOptions holds the options of the commands of `ensemble`; the processes that they start get the same
// options.
struct EnsembleOptions {
  std::filesystem::path file;
  // Instead of what the file says; empty, 0 or below: as there.
  std::string design, lost;
  int members = 0, preprocessors = 0, threads = 0;
  std::int64_t steps = 0;
  double epochs = 0, patience = 0;
  std::optional<double> rate;  // members train nothing and take so many images/s; 0: as fast as they come
  double seconds = 0;          // they end after so long
  double idle_seconds = 0;     // to take the machine's power before anything begins
  int cores = 0;               // that all processes together may use; 0: those that this one may
  std::filesystem::path out, record;
  std::filesystem::path hosts;  // file of machines, or the word slurm; empty: this one
  std::string remote_shell;
  run::ResumeOption resume;
  bool overwrite = false, no_eval = false, json = false, quiet = false;
};

template <typename Visit>
void visit_settings(EnsembleOptions& options, const Visit& visit) {
  visit("ensemble", options.file);
  visit("design", options.design);
  visit("members", options.members);
  visit("preprocessors", options.preprocessors);
  visit("threads", options.threads);
  visit("steps", options.steps);
  visit("epochs", options.epochs);
  visit("rate", options.rate);
  visit("seconds", options.seconds);
  visit("cores", options.cores);
  visit("idle_seconds", options.idle_seconds);
  visit("patience", options.patience);
  visit("lost", options.lost);
  visit("out", options.out);
  visit("hosts", options.hosts);
  visit("remote_shell", options.remote_shell);
  visit("no_eval", options.no_eval);
}

// Returns the file as the options change it. Error (config, usage) when design, members and preprocessors do
// not go together.
EnsembleSpec to_ensemble(const EnsembleOptions& options, const std::vector<int>& left_out = {});

// Opens the records.
StreamOptions to_stream(const EnsembleSpec& spec);

// EnsemblePart is the role of one process of the ensemble, in addition to the options that all processes
// share.
struct EnsemblePart {
  int member = 0;                   // of those that read in place; else its rank
  std::string stream;               // where it reads in place; empty: it takes part in passing
  std::int64_t first_position = 0;  // where a preprocessor begins
  std::filesystem::path announce;   // file for the address of a preprocessor
  std::filesystem::path results;    // folder in which each leaves its own
  std::vector<int> left_out;        // numbers of the members that were lost
};

}  // namespace trainyard::ensemble
