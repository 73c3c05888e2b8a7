#include "predict/runs/model_container.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/test_damage.h"
#include "base/test_folder.h"
#include "predict/runs/packed_columns.h"
#include "predict/runs/test_container.h"

namespace trainyard::predict {
namespace {

ModelContainer small_container() {
  return {"trainyard-test",
          3,
          R"({"note":"two words"})",
          {{"a", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}},
           {"none", {0, 7}, std::vector<double>{}},
           {"b", {1}, std::vector<double>{1.0 / 3}}}};
}

std::string bytes_of(const ModelContainer& model) {
  const TestFolder folder;
  const auto path = folder.path() / "model";
  write_model_container(path, model);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ModelContainer parse_bytes(const std::string& file) {
  return parse_model_container({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "a.model");
}

TEST(ModelContainerTest, IsReadAsItWasWritten) {
  const ModelContainer read = parse_bytes(bytes_of(small_container())), written = small_container();
  EXPECT_EQ(read.schema, written.schema);
  EXPECT_EQ(read.version, 3);
  EXPECT_EQ(read.description, written.description);
  ASSERT_EQ(read.tensors.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.tensors[i].name, written.tensors[i].name);
    EXPECT_EQ(read.tensors[i].shape, written.tensors[i].shape);
    EXPECT_EQ(read.tensors[i].numbers, written.tensors[i].numbers);
  }
  EXPECT_EQ(read.find("b"), &read.tensors[2]);
  EXPECT_EQ(read.find("c"), nullptr);
}

// Rows as of measurements: few different numbers in each column.
ModelContainer container_of_rows() {
  std::vector<double> numbers;
  for (int row = 0; row < 200; ++row) {
    const double cells[] = {row * 0.1, row % 7 / 3.0, -0.0, 0.0, row % 300 * 1e-6};
    numbers.insert(numbers.end(), std::begin(cells), std::end(cells));
  }
  return {"trainyard-test", 3, "{}", {{"rows", {200, 5}, std::move(numbers)}}};
}

TEST(ModelContainerTest, RowsArePackedAndReadToTheBit) {
  const ModelContainer written = container_of_rows();
  const std::string file = bytes_of(written);
  EXPECT_LT(file.size(), 6000u);
  const ModelContainer read = parse_bytes(file);
  const auto &numbers = *read.tensors[0].as<double>(), &expected = *written.tensors[0].as<double>();
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(numbers[i]), std::bit_cast<std::uint64_t>(expected[i])) << i;
}

TEST(PackedColumnsTest, DamageIsRefusedOrRead) {
  const std::vector<double> numbers = *container_of_rows().tensors[0].as<double>();
  const std::vector<std::byte> packed = pack_columns(numbers, 5);
  EXPECT_EQ(unpack_columns(packed, 200, 5), numbers);
  for (const std::size_t rows : {0u, 199u, 201u, 1000000000u})
    EXPECT_THROW(unpack_columns(packed, rows, 5), std::invalid_argument) << rows;
  EXPECT_THROW(unpack_columns(packed, 200, 0), std::invalid_argument);
  const std::string text(reinterpret_cast<const char*>(packed.data()), packed.size());
  expect_damage_is_seen(text, [](const std::string& bytes) {
    try {
      unpack_columns({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, 200, 5);
    } catch (const std::invalid_argument& error) {
      fail(ErrorKind::config, "{}", error.what());
    }
  });
}

TEST(ModelContainerTest, SaysWhatIsWrong) {
  const auto refused = [](const std::string& part, const std::string& file) {
    expect_error(ErrorKind::config, part, [&] { parse_bytes(file); });
  };
  const std::string valid = bytes_of(small_container());
  refused("'a.model': is no model file", "");
  refused("'a.model': is no model file", "PK" + valid.substr(2));
  std::string version = valid;
  version[16] = 1;
  refused("version 1 of a model file, 2 to 3 expected", version);
  refused("is JSON, as models of time were once", "{}");
  refused("cut short: tensor 'b' has 8 bytes, 7 are left", valid.substr(0, valid.size() - 1));
  refused("too long", valid + "x");
  std::string number = valid;
  number.back() ^= 1;
  refused("checksum mismatch in tensor 'b'", number);
  std::string header = valid;
  header[valid.find("two words")] = 'T';
  refused("checksum mismatch", header);
  std::string length = valid;
  length[30] = 1;
  refused("its header would have", length);
}

TEST(ModelContainerTest, HeadersWithRightChecksumsAreReadWithinBounds) {
  const auto refused = [](const std::string& part, const std::string& from, const std::string& to) {
    std::string header = R"({"schema":"s","version":1,"model":{},"tensors":[{"name":"a","dtype":"f64",)"
                         R"("shape":[1,2],"crc32c":0}]})";
    header.replace(header.find(from), from.size(), to);
    expect_error(ErrorKind::config, part, [&] { parse_bytes(with_model_header(header, 16)); });
  };
  refused("checksum mismatch in tensor 'a'", "s", "s");
  refused("cut short: tensor 'a'", "[1,2]", "[1,3]");
  refused("an impossible shape", "[1,2]", "[1000000,1000000,1000000]");
  refused("an impossible shape", "[1,2]", "[0,1000000,1000000,1000000]");
  refused("is not whole", "[1,2]", "[1e300]");
  refused("is not whole", "[1,2]", "[-1]");
  refused("is not whole", "\"version\":1", "\"version\":1e300");
  refused("too many dimensions", "[1,2]", "[1,1,1,1,1,1,1]");
  refused("unknown dtype 'i32'", "f64", "i32");
  refused("its model is no object", "{}", "[]");
  refused("key 'schema' not found", "schema", "scheme");
  refused("no whole JSON", "}]}", "}]");
  refused("is packed and has no rows of f64", "[1,2],", "[2],\"packed_bytes\":4,");
  refused("cut short: tensor 'a' has 17 bytes", "[1,2],", "[1,2],\"packed_bytes\":17,");
  refused("nested too deeply", "{}", "{\"a\":" + std::string(20, '[') + std::string(20, ']') + "}");
}

TEST(ModelContainerTest, DamagedFilesAreRefusedOrRead) {
  expect_damage_is_seen(bytes_of(small_container()), [](const std::string& file) { parse_bytes(file); });
}

TEST(ModelContainerTest, CorpusIsRefusedOrRead) {
  EXPECT_GE(replay_corpus("model_file", [](const std::string& file) { parse_bytes(file); }), 3);
}

TEST(ModelContainerTest, NothingIsLeftWhereItCannotBeWritten) {
  const TestFolder folder;
  EXPECT_THROW(write_model_container(folder.path() / "absent" / "model", small_container()), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace trainyard::predict
