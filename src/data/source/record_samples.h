#pragma once

#include <filesystem>
#include <memory>

#include "data/source/dataset.h"
#include "data/source/record_set.h"

namespace trainyard::data {

// The images of a set of record files. With Damage::refuse a record that cannot be read, or whose label is
// not below `classes` where that is not 0, is an Error (config) that names it; else its label is -1.
std::shared_ptr<const SampleSource> record_samples(std::shared_ptr<const RecordSet> records, Damage damage,
                                                   int classes = 0);

// The record files of a folder, or one file. Shards whose names speak of a split ("train", "test") make that
// split; without a test split a tenth of the records is held out. Classes are those of labels.txt, or one
// more than the largest label. Error (config) for damage that lengths show, and for a missing shard.
Dataset load_records(const std::filesystem::path& path);

}  // namespace trainyard::data
