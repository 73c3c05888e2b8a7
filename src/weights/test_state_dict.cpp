#include "weights/test_state_dict.h"

namespace trainyard::weights {
namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return text;
}

std::uint32_t crc32(const std::string& text) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

}  // namespace

std::string make_zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string file, directory;
  for (const auto& [name, content] : entries) {
    const std::string sums =
        little(crc32(content), 4) + little(content.size(), 4) + little(content.size(), 4);
    directory += "PK\x01\x02" + little(0, 6) + little(0, 2) + little(0, 4) + sums + little(name.size(), 2) +
                 little(0, 12) + little(file.size(), 4) + name;
    file += "PK\x03\x04" + little(0, 4) + little(0, 2) + little(0, 4) + sums + little(name.size(), 2) +
            little(0, 2) + name + content;
  }
  return file + directory + "PK\x05\x06" + little(0, 4) + little(entries.size(), 2) +
         little(entries.size(), 2) + little(directory.size(), 4) + little(file.size(), 4) + little(0, 2);
}

std::string make_wide_zip(const std::vector<std::pair<std::string, std::string>>& entries) {
  const std::string elsewhere(4, '\xff');
  std::string file, directory;
  for (const auto& [name, content] : entries) {
    const std::string wide = little(content.size(), 8), sum = little(crc32(content), 4);
    const std::string field = little(0x9999, 2) + little(2, 2) + "ab" + little(1, 2) + little(24, 2) + wide +
                              wide + little(file.size(), 8);
    directory += "PK\x01\x02" + little(0, 6) + little(0, 2) + little(0, 4) + sum + elsewhere + elsewhere +
                 little(name.size(), 2) + little(field.size(), 2) + little(0, 10) + elsewhere + name + field;
    file += "PK\x03\x04" + little(0, 4) + little(0, 2) + little(0, 4) + sum + elsewhere + elsewhere +
            little(name.size(), 2) + little(0, 2) + name + content;
  }
  const std::string count = little(entries.size(), 8),
                    end = "PK\x06\x06" + little(44, 8) + little(0, 4) + little(0, 8) + count + count +
                          little(directory.size(), 8) + little(file.size(), 8),
                    locator = "PK\x06\x07" + little(0, 4) + little(file.size() + directory.size(), 8) +
                              little(1, 4);
  return file + directory + end + locator + "PK\x05\x06" + little(0, 4) + little(0xFFFF, 2) +
         little(0xFFFF, 2) + elsewhere + elsewhere + little(0, 2);
}

std::string pickled_text(const std::string& text) { return "X" + little(text.size(), 4) + text; }

std::string pickled_number(int number) { return "J" + little(static_cast<std::uint32_t>(number), 4); }

std::string pickled_numbers(const std::vector<int>& numbers) {
  std::string text = "(";
  for (const int number : numbers) text += pickled_number(number);
  return text + "t";
}

std::string pickled_tensor(const std::string& storage, int elements, int offset,
                           const std::vector<int>& shape, const std::vector<int>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled_text("storage") + "ctorch\nFloatStorage\n" +
         pickled_text(storage) + pickled_text("cpu") + pickled_number(elements) + "tQ" +
         pickled_number(offset) + pickled_numbers(shape) + pickled_numbers(strides) + "\x89" +
         "ccollections\nOrderedDict\n)RtR";
}

std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string text =
      "\x80\x02"
      "ccollections\nOrderedDict\n)R(";
  for (const auto& [name, tensor] : items) text += pickled_text(name) + tensor;
  return text + "u}" + pickled_text("_metadata") + "}" + pickled_text("version") + "K\x01" + "ssb.";
}

std::string float_bytes(int count, float first) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const float number = first + static_cast<float>(i);
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    text.append(bytes, sizeof number);
  }
  return text;
}

std::string small_state_dict() {
  return make_zip({{"archive/data.pkl", pickled_dict({{"weight", pickled_tensor("7", 6, 0, {2, 3}, {3, 1})},
                                                      {"bias", pickled_tensor("8", 6, 0, {3}, {2})}})},
                   {"archive/data/7", float_bytes(6, 1)},
                   {"archive/data/8", float_bytes(6, 10)}});
}

std::string driple_state_dict(int hidden) {
  const int h = hidden;
  const std::string readout = "graph_read_out.";
  const std::vector<std::pair<std::string, std::vector<int>>> shapes{
      {"conv_layers.0.W", {3, h}},
      {"conv_layers.0.b", {h}},
      {"conv_layers.1.W", {h, h}},
      {"conv_layers.1.b", {h}},
      {"gru.gru.weight_ih_l0", {3 * h, h}},
      {"gru.gru.weight_hh_l0", {3 * h, h}},
      {"gru.gru.bias_ih_l0", {3 * h}},
      {"gru.gru.bias_hh_l0", {3 * h}},
      {readout + "set2set.lstm.weight_ih_l0", {4 * h, 2 * h}},
      {readout + "set2set.lstm.weight_hh_l0", {4 * h, h}},
      {readout + "set2set.lstm.bias_ih_l0", {4 * h}},
      {readout + "set2set.lstm.bias_hh_l0", {4 * h}},
      {readout + "mlp.fully_connected.0.linear.weight", {h, 2 * h}},
      {readout + "mlp.fully_connected.0.linear.bias", {h}},
      {readout + "mlp.fully_connected.1.linear.weight", {h, h}},
      {readout + "mlp.fully_connected.1.linear.bias", {h}},
      {readout + "mlp.fully_connected.2.linear.weight", {12, h}},
      {readout + "mlp.fully_connected.2.linear.bias", {12}}};
  std::vector<std::pair<std::string, std::string>> items, entries{{"driple/data.pkl", ""}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto& [name, shape] = shapes[i];
    const int rows = shape[0], columns = shape.size() == 2 ? shape[1] : 1;
    const std::string key = std::to_string(i);
    items.emplace_back(
        name, pickled_tensor(key, rows * columns, 0, shape,
                             shape.size() == 2 ? std::vector<int>{columns, 1} : std::vector<int>{1}));
    std::string numbers;
    for (int n = 0; n < rows * columns; ++n)
      numbers += float_bytes(1, 0.05f * static_cast<float>((n + static_cast<int>(i)) % 7 - 2));
    entries.emplace_back("driple/data/" + key, numbers);
  }
  entries[0].second = pickled_dict(items);
  return make_zip(entries);
}

}  // namespace trainyard::weights
