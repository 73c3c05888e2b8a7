#include "data/source/sample_source.h"

#include "base/test_folder.h"
#include "data/decode/decode.h"
#include "data/decode/test_images.h"
#include "data/source/class_folders.h"
#include "data/source/dataset.h"
#include "data/source/record_set.h"
#include "data/source/record_writer.h"
#include "data/source/test_set.h"
#include "data/text/token_file.h"
#include "data/view/batch_maker.h"

namespace trainyard::data {

namespace {

std::string png_of(int value, std::int64_t width = 6, std::int64_t height = 4) {
  const std::vector<std::byte> bytes = encode_png(flat_image(width, height, 1, value));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Writes PNGs of one value each, so many of each class.
void write_classes(const TestFolder& folder, const std::string& below,
                   const std::vector<std::string>& classes, int images) {
  int value = 0;
  for (const std::string& each : classes) {
    std::filesystem::create_directories(folder.path() / below / each);
    for (int i = 0; i < images; ++i)
      folder.write((std::filesystem::path(below) / each / std::to_string(i)).string() + ".png",
                   png_of(value++));
  }
}

void write_records(const std::filesystem::path& folder, const std::string& split, int records) {
  RecordWriter writer({folder, "made-up", split, 2, records});
  for (int i = 0; i < records; ++i) {
    const std::string image = png_of(i);
    writer.add({.label = i % 3, .height = 4, .width = 6, .format = "png", .encoded = image});
  }
  writer.finish();
}

// The labels or lengths, and the first input, of all samples of one epoch.
struct Seen {
  std::multiset<float> inputs;
  std::multiset<std::int32_t> labels;

  bool operator==(const Seen&) const = default;
};

Seen epoch_of(const Dataset& dataset, std::int64_t workers, std::int64_t batch) {
  Seen seen;
  const std::int64_t steps = dataset.size(Split::train) / (batch * workers);
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const auto maker = batches_of(dataset)(
        {.preprocess = {"unit", {1, 4, 6}}, .batch = batch, .seed = 5, .worker = worker, .workers = workers});
    HostTensor inputs(maker->input_shape(), maker->input_type()), labels({batch}, DType::i32);
    BatchMaker::Scratch scratch = maker->scratch();
    for (std::int64_t step = 0; step < steps; ++step) {
      maker->make(step, inputs.data(), labels.as<std::int32_t>().data(), scratch);
      for (std::int64_t i = 0; i < batch; ++i) {
        seen.labels.insert(labels.as<std::int32_t>()[static_cast<std::size_t>(i)]);
        const auto at = static_cast<std::size_t>(i);
        seen.inputs.insert(dataset.kind == SampleKind::tokens
                               ? static_cast<float>(inputs.as<std::int32_t>()[at])
                               : inputs.as<float>()[at * 24]);
      }
    }
  }
  return seen;
}

TEST(SampleSource, WorkersTakeEachSampleOfEverySourceOnceAnEpoch) {
  const TestFolder folder;
  write_classes(folder, "images/train", {"a", "b", "c"}, 8);
  write_classes(folder, "images/test", {"a", "b", "c"}, 1);
  write_records(folder.path() / "records", "train", 24);
  write_records(folder.path() / "records", "test", 2);
  std::string text;
  for (int i = 0; i < 27 * 5 + 1; ++i) text += static_cast<char>(i % 5 == 0 ? i / 5 : 200);
  folder.write("text", text);
  std::vector<Token> tokens(text.begin(), text.end());
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = i % 5 == 0 ? static_cast<Token>(i / 5) : 999;
  std::filesystem::create_directories(folder.path() / "tokens");
  for (const char* name : {"train.tokens", "validation.tokens"})
    write_tokens(folder.path() / "tokens" / name, tokens, 1000, 0);
  DatasetOptions images{.name = "folder:" + (folder.path() / "images").string()},
      records{.name = "tfrecord:" + (folder.path() / "records").string()},
      sequences{.name = "text:" + (folder.path() / "text").string(), .tokens = SequenceOptions{5, 256}},
      packed{.name = "tokens:" + (folder.path() / "tokens").string(), .tokens = SequenceOptions{5, 1000}};
  for (const DatasetOptions& options : {images, records, sequences, packed}) {
    SCOPED_TRACE(options.name);
    const Dataset dataset = load_dataset(options);
    const std::int64_t size = dataset.size(Split::train);
    ASSERT_EQ(size % 2, dataset.kind == SampleKind::tokens ? 1 : 0);
    const Seen alone = epoch_of(dataset, 1, 1);
    EXPECT_EQ(std::ssize(alone.inputs), size);
    EXPECT_EQ(std::ssize(std::set<float>(alone.inputs.begin(), alone.inputs.end())), size);
    if (size % 2 == 0) {
      EXPECT_EQ(epoch_of(dataset, 2, size / 4), alone);
    }
    EXPECT_EQ(epoch_of(dataset, 1, size), alone);
  }
}

TEST(HoldOut, TakesATenthAndLosesNone) {
  const TestFolder folder;
  write_classes(folder, "", {"a", "b"}, 15);
  const Dataset dataset = load_class_folders(folder.path());
  EXPECT_EQ(dataset.size(Split::train), 27);
  EXPECT_EQ(dataset.size(Split::test), 3);
  EXPECT_NE(dataset.note.find("3 of 30 images are held out"), std::string::npos) << dataset.note;
  std::set<std::string> files;
  for (const Split split : {Split::train, Split::test})
    for (std::int64_t i = 0; i < dataset.size(split); ++i)
      files.insert(dataset.split(split).source()->where(i));
  EXPECT_EQ(files.size(), 30u);
}

TEST(ClassFolders, AreSplitsAndClassesInTheOrderOfNames) {
  const TestFolder folder;
  write_classes(folder, "train", {"rose", "daisy"}, 2);
  write_classes(folder, "validation", {"daisy", "rose"}, 1);
  folder.write("train/rose/notes.txt", "");
  folder.write("train/rose/large.JPG", "");
  const Dataset dataset = load_class_folders(folder.path());
  EXPECT_EQ(dataset.kind, SampleKind::encoded);
  EXPECT_EQ(dataset.classes, 2);
  EXPECT_EQ(dataset.size(Split::train), 5);
  EXPECT_EQ(dataset.size(Split::test), 2);
  EXPECT_EQ(dataset.note, "1 files that are neither JPEG nor PNG are left out");
  SampleSource::Scratch scratch;
  EXPECT_EQ(dataset.train.source()->read(0, scratch).label, 0);
  EXPECT_NE(dataset.train.source()->where(0).find("daisy/0.png"), std::string::npos);
  EXPECT_EQ(dataset.train.source()->read(4, scratch).label, 1);
}

TEST(ClassFolders, OneImageIsForTraining) {
  const TestFolder folder;
  write_classes(folder, "", {"a"}, 1);
  const Dataset dataset = load_class_folders(folder.path());
  EXPECT_EQ(dataset.size(Split::train), 1);
  EXPECT_EQ(dataset.size(Split::test), 0);
}

TEST(ClassFolders, AFolderIsNoImageAndALinkThatLeadsNowhereIsNamed) {
  const TestFolder folder;
  write_classes(folder, "", {"a"}, 2);
  std::filesystem::create_directories(folder.path() / "a" / "folder.png");
  EXPECT_EQ(load_class_folders(folder.path()).size(Split::train), 1);
  std::filesystem::create_symlink("nowhere", folder.path() / "a" / "link.png");
  const Dataset dataset = load_class_folders(folder.path());
  SampleSource::Scratch scratch;
  expect_error(ErrorKind::io, "a/link.png' cannot be read: No such file", [&] {
    for (const Split split : {Split::train, Split::test})
      for (std::int64_t i = 0; i < dataset.size(split); ++i) dataset.split(split).source()->read(i, scratch);
  });
}

TEST(ListedFiles, AreThoseThatAreRead) {
  const TestFolder folder;
  write_classes(folder, "images/train", {"a", "b"}, 2);
  write_classes(folder, "images/val", {"a", "b"}, 1);
  folder.write("images/train/a/notes.txt", "");
  folder.write("images/other.png", "");
  const auto names = [&](const std::string& dataset) {
    const DatasetFiles found = list_files({.name = dataset + folder.path().string()});
    std::set<std::string> all;
    for (const std::filesystem::path& file : found.files) all.insert(file.lexically_relative(folder.path()));
    return all;
  };
  const DatasetFiles images = list_files({.name = "folder:" + (folder.path() / "images").string()});
  EXPECT_EQ(images.files.size(), 6u);
  EXPECT_EQ(images.note, "1 files that are neither JPEG nor PNG are left out");
  write_records(folder.path(), "train", 20);
  EXPECT_EQ(names("tfrecord:"), (std::set<std::string>{"made-up-train-00000-of-00002.tfrecord",
                                                       "made-up-train-00001-of-00002.tfrecord"}));
  write_records(folder.path(), "test", 4);
  write_records(folder.path(), "extra", 4);
  folder.write("labels.txt", "0:a\n1:b\n2:c\n");
  EXPECT_EQ(names("tfrecord:").size(), 5u);
  EXPECT_TRUE(names("tfrecord:").contains("labels.txt"));
  EXPECT_FALSE(names("tfrecord:").contains("made-up-extra-00000-of-00002.tfrecord"));
  expect_error(ErrorKind::config, "has no files", [] { list_files({.name = "synthetic"}); });
}

TEST(ClassFolders, Mistakes) {
  const TestFolder folder;
  const auto load = [&](const std::string& below) {
    return [&, below] { load_class_folders(folder.path() / below); };
  };
  expect_error(ErrorKind::config, "none' is not a folder", load("none"));
  write_classes(folder, "empty", {"a"}, 1);
  std::filesystem::create_directories(folder.path() / "empty/b");
  expect_error(ErrorKind::config, "empty/b': no JPEG or PNG in this class", load("empty"));
  write_classes(folder, "other/train", {"a", "b"}, 1);
  write_classes(folder, "other/test", {"a"}, 1);
  expect_error(ErrorKind::config, "other/test' has classes a; ", load("other"));
  write_classes(folder, "bad", {"a"}, 20);
  folder.write("bad/a/3.png", "no image");
  const Dataset dataset = load_class_folders(folder.path() / "bad");
  const auto maker = batches_of(dataset)({.preprocess = {"unit", {1, 4, 4}}, .batch = 18});
  HostTensor inputs(maker->input_shape(), DType::f32), labels({18}, DType::i32);
  BatchMaker::Scratch scratch;
  expect_error(ErrorKind::config, "bad/a/3.png': 8 bytes that begin neither as a JPEG nor as a PNG", [&] {
    const auto tests = batches_of(dataset)(
        {.pass = Pass::evaluation, .split = Split::test, .preprocess = {"unit", {1, 4, 4}}, .batch = 2});
    maker->make(0, inputs.data(), labels.as<std::int32_t>().data(), scratch);
    tests->make(0, inputs.data(), labels.as<std::int32_t>().data(), scratch);
  });
}

TEST(RecordSamples, AreSplitsByTheNamesOfShards) {
  const TestFolder folder;
  write_records(folder.path(), "train", 20);
  Dataset dataset = load_records(folder.path());
  EXPECT_EQ(dataset.classes, 3);
  EXPECT_EQ(dataset.size(Split::train), 18);
  EXPECT_NE(dataset.note.find("2 of 20 images are held out"), std::string::npos) << dataset.note;
  write_records(folder.path(), "test", 4);
  folder.write("labels.txt", "0:a\n1:b\n2:c\n3:d\n");
  dataset = load_records(folder.path());
  EXPECT_EQ(dataset.note, "");
  EXPECT_EQ(dataset.classes, 4);
  EXPECT_EQ(dataset.size(Split::train), 20);
  EXPECT_EQ(dataset.size(Split::test), 4);
  SampleSource::Scratch scratch;
  EXPECT_EQ(dataset.train.source()->read(4, scratch).label, 1);
}

TEST(RecordSamples, Mistakes) {
  const TestFolder folder;
  expect_error(ErrorKind::config, "none': no folder of record files, and no file",
               [&] { load_records(folder.path() / "none"); });
  expect_error(ErrorKind::config, "no record files", [&] { load_records(folder.path()); });
  write_records(folder.path(), "train", 20);
  const auto shard = folder.path() / "made-up-train-00001-of-00002.tfrecord";
  const std::string whole = content_of(shard);
  overwrite(shard, whole.substr(0, whole.size() - 5));
  expect_error(ErrorKind::config, "made-up-train-00001-of-00002.tfrecord",
               [&] { load_records(folder.path()); });
  std::filesystem::remove(shard);
  expect_error(ErrorKind::config, "1 shards are missing", [&] { load_records(folder.path()); });
  std::string damaged = whole;
  damaged[damaged.size() - 10] = static_cast<char>(damaged[damaged.size() - 10] ^ 1);  // of the last payload
  overwrite(shard, damaged);
  folder.write("labels.txt", "0:a\n1:b\n2:c\n");
  const Dataset dataset = load_records(folder.path());
  const auto set = RecordSet::open(folder.path(), "train", Damage::skip);
  SampleSource::Scratch scratch;
  int damages = 0;
  for (std::int64_t i = 0; i < set->size(); ++i)
    damages += record_samples(set, Damage::skip)->read(i, scratch).label < 0 ? 1 : 0;
  EXPECT_EQ(damages, 1);
  expect_error(ErrorKind::config, "does not agree with its checksum", [&] {
    for (const Split split : {Split::train, Split::test})
      for (std::int64_t i = 0; i < dataset.size(split); ++i) dataset.split(split).source()->read(i, scratch);
  });
  expect_error(ErrorKind::config, "label 2, 0 to 1 expected",
               [&] { record_samples(set, Damage::refuse, 2)->read(2, scratch); });
}

TEST(DatasetNames, SayWhatTheSamplesAre) {
  EXPECT_EQ(kind_of_dataset("mnist"), SampleKind::pixels);
  EXPECT_EQ(kind_of_dataset("synthetic"), std::nullopt);
  EXPECT_EQ(kind_of_dataset("tfrecord:x"), SampleKind::encoded);
  EXPECT_EQ(kind_of_dataset("folder:x"), SampleKind::encoded);
  for (const char* name : {"text:x", "tokens:x", "language:1", "moby-dick"})
    EXPECT_EQ(kind_of_dataset(name), SampleKind::tokens);
  EXPECT_TRUE(has_files("moby-dick") && has_files("text:x") && has_files("mnist"));
  EXPECT_FALSE(has_files("synthetic"));
  EXPECT_EQ(vocabulary_of("text:x"), kByteVocabulary);
  EXPECT_EQ(vocabulary_of("moby-dick"), kByteVocabulary);
  EXPECT_EQ(vocabulary_of("mnist"), std::nullopt);
  expect_error(ErrorKind::config, "folder:DIR expected", [] { kind_of_dataset("folder:"); });
  expect_error(ErrorKind::config, "unknown dataset 'floder:x'", [] { kind_of_dataset("floder:x"); });
  expect_error(ErrorKind::config, "is always read where it lies",
               [] { load_dataset({.name = "text:x", .read = ReadMode::mmap}); });
}

}  // namespace

}  // namespace trainyard::data
