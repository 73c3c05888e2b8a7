#pragma once

#include "data/source/image_files.h"
#include "data/source/sample_source.h"
#include "data/source/synthetic.h"
#include "data/source/token_source.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// Error (config) that names the file and the first label outside [0, classes).
void check_labels(std::span<const std::int32_t> labels, int classes, const std::filesystem::path& file);

// The files that a data set is read from.
struct DatasetFiles {
  std::filesystem::path root;                // a folder, or the one file
  std::vector<std::filesystem::path> files;  // below the root, or the root itself
  std::string note;                          // for the user: what else lies there; may be empty
};

enum class Split { train, test };

// The samples of a split: images in memory, which a device may copy into its own, or any other source.
struct SplitData {
  HostTensor images;                            // u8 (N, C, H, W); empty when there are `samples`
  HostTensor labels;                            // i32 (N), each in [0, classes), of `images`
  std::shared_ptr<const SampleSource> samples;  // null when there are `images`

  std::int64_t size() const { return samples ? samples->size() : labels.elements(); }
  // Borrows `images` and `labels`.
  std::shared_ptr<const SampleSource> source() const {
    return samples ? samples : images_in_memory(images, labels);
  }
};

struct Dataset {
  std::string name;
  SampleKind kind = SampleKind::pixels;
  Shape image_shape;  // C, H, W of decoded images; no dimension for others
  int classes = 0;    // of tokens: the vocabulary
  SplitData train, test;
  std::optional<double> least_loss;  // of tokens: no network has a smaller mean loss of a step, in nats
  // Computes the mean loss that the true model of the data has on these test samples; null where no such
  // model is known.
  std::function<double()> least_test_loss;
  std::string note;  // for the user: which samples are held out, what was left out; may be empty

  const SplitData& split(Split which) const { return which == Split::train ? train : test; }
  std::int64_t size(Split which) const { return split(which).size(); }
  void add_note(const std::string& more);
};

struct DatasetOptions {
  std::string name = "mnist";    // one of dataset_names(), with a path in the place of DIR or FILE
  std::filesystem::path folder;  // where the files lie; empty: in the cache
  std::filesystem::path cache;   // empty: default_cache_folder()
  std::filesystem::path staged;  // a copy of the root of list_files(), to be read instead; empty: none
  ReadMode read = ReadMode::memory;
  SyntheticOptions synthetic;  // read only when the name is "synthetic"
  // Set for a network that reads sequences; "synthetic" is then made of them.
  std::optional<SequenceOptions> tokens;
};

const std::vector<std::string>& dataset_names();       // "mnist", ..., "tfrecord:DIR", ...
const std::vector<std::string>& file_dataset_names();  // those that lie in files, so can be got

// Returns nothing for a set that is made as the network needs it ("synthetic"). Error (config) when the name
// is unknown.
std::optional<SampleKind> kind_of_dataset(const std::string& name);

// Returns the number of different tokens that the files have; nothing for a set that is made for any
// vocabulary, or has no tokens. Error (config) as load_dataset().
std::optional<std::int64_t> vocabulary_of(const std::string& name);

// Returns false for a set that is made up ("synthetic", "language:SEED"). Error (config) when the name is
// unknown.
bool has_files(const std::string& name);

// Error (config) when the name is unknown, the files are missing, or one does not parse.
Dataset load_dataset(const DatasetOptions& options);

// Lists the files that load_dataset reads. Error (config) when they are missing, or the set has none.
DatasetFiles list_files(const DatasetOptions& options);

// Loads the files of a known name from any folder in which they lie; `name` is one of file_dataset_names().
// A text without `tokens` has single steps as samples.
Dataset load_dataset_files(const std::string& name, const std::filesystem::path& folder,
                           ReadMode read = ReadMode::memory,
                           const std::optional<SequenceOptions>& tokens = std::nullopt);

// Writes them in the form the cache keeps (IDX, CIFAR binary, a text as it is) and returns the names, in a
// fixed order. `from` is the folder that they were loaded from.
std::vector<std::string> store_dataset_files(const Dataset& dataset, const std::filesystem::path& from,
                                             const std::filesystem::path& folder);

}  // namespace trainyard::data
