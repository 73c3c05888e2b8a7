#include "data/pack/pack.h"

#include "base/file.h"
#include "base/test_folder.h"
#include "data/decode/decode.h"
#include "data/decode/test_images.h"
#include "data/source/record_set.h"
#include "process/stop_request.h"

namespace trainyard::data {

namespace {

namespace fs = std::filesystem;
using data::Damage, data::RecordSet, data::SetInfo;

void write_grey_png(const fs::path& path, std::uint8_t grey) {
  const std::vector<std::byte> png = data::encode_png(data::flat_image(5, 6, 1, grey));
  fs::create_directories(path.parent_path());
  AtomicFile file(path);
  file.write(png.data(), png.size());
  file.commit();
}

std::string text_in(const fs::path& path) {
  const std::vector<std::byte> content = read_file(path);
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

// As pack_photos makes it.
PackedImage photo_number(const PhotoOptions& photos, std::int64_t i) {
  const Photo photo = PhotoPainter(photos, "train").paint(i);
  data::Image image(photo.width, photo.height, 3);
  std::copy(photo.pixels.begin(), photo.pixels.end(), image.data());
  return {photo.label, photo.height, photo.width, "jpeg", data::encode_jpeg(image, 90)};
}

TEST(PackFolder, KeepsEveryFileUnderItsClass) {
  const TestFolder folder;
  const fs::path images = folder.path() / "images", to = folder.path() / "records";
  for (int i = 0; i < 12; ++i)
    write_grey_png(images / (i % 3 == 0 ? "b" : "a") / (std::to_string(i) + ".png"),
                   static_cast<std::uint8_t>(i));
  folder.write("images/a/notes.txt", "no image");
  folder.write("images/a/.hidden", "no image");
  folder.write("images/README", "beside the classes");
  const PackedFolder packed = pack_folder(images, 1, {.to = to, .name = "x", .shards = 3});
  EXPECT_EQ(packed.set.records, 12);
  EXPECT_EQ(packed.set.classes, 2);
  EXPECT_EQ(packed.left_out, std::vector<fs::path>{images / "a" / "notes.txt"});
  EXPECT_EQ(text_in(to / "labels.txt"), "0:a\n1:b\n");

  const auto set = RecordSet::open(to, "train", Damage::refuse);
  ASSERT_EQ(set->size(), 12);
  std::vector<int> order;
  for (std::int64_t id = 0; id < 12; ++id) {
    const data::Record record = set->read(id);
    for (int i = 0; i < 12; ++i) {
      const std::vector<std::byte> file =
          read_file(images / (i % 3 == 0 ? "b" : "a") / (std::to_string(i) + ".png"));
      if (!std::equal(file.begin(), file.end(), record.encoded.begin(), record.encoded.end())) continue;
      EXPECT_EQ(record.label, i % 3 == 0 ? 1 : 0);
      order.push_back(i);
    }
  }
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const SetInfo info = set->info(true);
  EXPECT_EQ(info.height.most, 6);
  EXPECT_EQ(info.width.most, 5);
}

TEST(PackFolder, RefusesWhatCannotBeASet) {
  const TestFolder folder;
  const PackOptions options{.to = folder.path() / "records", .name = "x"};
  expect_error(ErrorKind::config, "cannot read folder",
               [&] { pack_folder(folder.path() / "none", 1, options); });
  fs::create_directories(folder.path() / "images" / "a");
  expect_error(ErrorKind::config, "no images", [&] { pack_folder(folder.path() / "images", 1, options); });
  folder.write("images/a/x", "text");
  expect_error(ErrorKind::config, "1 files in 1 classes, none of them a JPEG or a PNG",
               [&] { pack_folder(folder.path() / "images", 1, options); });
  write_grey_png(folder.path() / "images" / "a" / "x.png", 1);
  fs::create_directories(options.to);
  folder.write("records/labels.txt", "0:b\n");
  expect_error(ErrorKind::config, "names other classes",
               [&] { pack_folder(folder.path() / "images", 1, options); });
}

TEST(PackDataset, PngsHaveThePixels) {
  const TestFolder folder;
  const data::Dataset dataset = data::make_synthetic({{3, 9, 7}, 4, 50, 20, 3});
  const PackedSet packed =
      pack_dataset(dataset, data::Split::test, {.to = folder.path(), .name = "x", .split = "test"});
  EXPECT_EQ(packed.records, 20);
  EXPECT_EQ(packed.classes, 4);
  EXPECT_EQ(packed.shards, 1);
  const auto set = RecordSet::open(folder.path(), "test", Damage::refuse);
  for (std::int64_t id = 0; id < 20; ++id) {
    const data::Record record = set->read(id);
    EXPECT_EQ(record.label, dataset.test.labels.as<std::int32_t>()[static_cast<std::size_t>(id)]);
    const std::uint8_t* planes = dataset.test.images.as<std::uint8_t>().data() + id * 3 * 63;
    const data::Image image = data::decode_image(record.encoded);
    ASSERT_EQ(image.bytes(), 63 * 3);
    for (std::size_t i = 0; i < 63; ++i)
      for (std::size_t channel = 0; channel < 3; ++channel)
        ASSERT_EQ(image.data()[i * 3 + channel], planes[channel * 63 + i]) << id;
  }
}

TEST(PackPhotos, HasTheSameBytesEveryTime) {
  const TestFolder folder;
  const PhotoOptions photos{.images = 70, .classes = 3, .min_pixels = 32, .max_pixels = 40};
  const PackedSet packed = pack_photos(photos, {.to = folder.path() / "a", .name = "x", .shards = 2});
  pack_photos(photos, {.to = folder.path() / "b", .name = "x", .shards = 2});
  for (const char* name : {"x-train-00000-of-00002.tfrecord", "x-train-00001-of-00002.tfrecord"})
    EXPECT_EQ(text_in(folder.path() / "a" / name), text_in(folder.path() / "b" / name));
  const SetInfo info = RecordSet::open(folder.path() / "a", "", Damage::refuse)->info(true);
  EXPECT_TRUE(info.whole());
  EXPECT_EQ(info.records, 70);
  EXPECT_EQ(info.bytes, packed.bytes);
  EXPECT_EQ(info.labels.size(), 3u);
  EXPECT_EQ(info.formats, (std::map<std::string, std::int64_t>{{"jpeg", 70}}));
  EXPECT_GE(info.height.least, 32);
  EXPECT_LE(info.height.most, 40);
}

TEST(WriteSet, AnErrorLeavesNothing) {
  const TestFolder folder;
  expect_error(ErrorKind::io, "number 33", [&] {
    write_set({.to = folder.path(), .name = "x", .shards = 10}, 40, [](std::int64_t i) {
      if (i == 33) fail(ErrorKind::io, "number {}", i);
      return PackedImage{0, 1, 1, "png", {}};
    });
  });
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(WriteSet, OneThatWasStoppedGoesOn) {
  const TestFolder folder;
  PackOptions options{.to = folder.path() / "cut", .name = "x", .shards = 8};
  const PhotoOptions photos{.images = 400, .classes = 3, .min_pixels = 32, .max_pixels = 34};
  const PackedSet whole = pack_photos(photos, {.to = folder.path() / "whole", .name = "x", .shards = 8});
  EXPECT_TRUE(whole.is_whole());
  {
    const process::StopRequest guard;
    const PackedSet cut = write_set(options, photos.images, [&](std::int64_t i) {
      if (i == 120) process::StopRequest::ask();  // in the midst of the third shard
      return photo_number(photos, i);
    });
    EXPECT_FALSE(cut.is_whole());
    EXPECT_GE(cut.complete_shards, 2);
    EXPECT_EQ(cut.records, 50 * cut.complete_shards);
    EXPECT_EQ(std::distance(fs::directory_iterator(options.to), {}), cut.complete_shards);
  }
  options.resume = true;
  PhotoOptions others = photos;
  others.seed = 2;
  expect_error(ErrorKind::config, "was packed from something else", [&] { pack_photos(others, options); });
  const PackedSet rest = pack_photos(photos, options);
  EXPECT_TRUE(rest.is_whole());
  EXPECT_EQ(rest.records, whole.records);
  EXPECT_EQ(rest.bytes, whole.bytes);
  for (const auto& entry : fs::directory_iterator(folder.path() / "whole"))
    EXPECT_EQ(text_in(options.to / entry.path().filename()), text_in(entry.path()));
}

}  // namespace

}  // namespace trainyard::data
