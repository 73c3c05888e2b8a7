#pragma once

// For tests only.

#include "data/decode/decode.h"
#include "data/recipe/preprocess.h"
#include "data/source/record_set.h"
#include "data/source/record_writer.h"
#include "ensemble/sample_maker.h"

namespace trainyard::ensemble {

inline constexpr std::int64_t kRecordClasses = 5;

// Images of one gray each, which says their id; two shards.
inline void write_test_records(const std::filesystem::path& folder, std::int64_t count,
                               const std::string& split = "train", std::int64_t damaged_image = -1) {
  data::RecordWriter writer(
      {.folder = folder, .name = "gray", .split = split, .shards = 2, .records = count});
  for (std::int64_t id = 0; id < count; ++id) {
    data::Image image(8, 8, 1);
    std::fill_n(image.data(), image.bytes(), static_cast<std::uint8_t>(id));
    const std::vector<std::byte> png = data::encode_png(image);
    std::string encoded(reinterpret_cast<const char*>(png.data()), png.size());
    if (id == damaged_image) encoded.resize(encoded.size() / 2);  // in a record that is sound
    writer.add({.label = static_cast<std::int32_t>(id % kRecordClasses),
                .height = 8,
                .width = 8,
                .format = "png",
                .encoded = encoded});
  }
  writer.finish();
}

inline SampleSource test_source(const std::filesystem::path& folder,
                                data::Damage damage = data::Damage::skip) {
  SampleSource source;
  source.records = data::RecordSet::open(folder, "train", damage);
  source.read.damage = damage;
  source.preprocessor = data::make_preprocessor({.name = "lenet", .output = {1, 8, 8}});
  return source;
}

}  // namespace trainyard::ensemble
