#include <iterator>

#include "base/text.h"
#include "networks/layers/description.h"

namespace trainyard::networks::layers {
namespace {

using yaml::YamlReader;

Text text_at(const YamlReader& at) { return {at.text(), at.place()}; }

// Names become parts of the names of parameters, where ':' has a meaning, and of patterns of them.
std::string name_at(const YamlReader& at) {
  const std::string name = at.text();
  const bool plain = !name.empty() && name.size() <= 200 && name.front() != '/' && name.back() != '/' &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
                     });
  if (!plain)
    at.complain(fmt::format("name '{}': letters, digits and _ - . expected, and / between them", name));
  if (name == "logits") at.complain("name 'logits': that of the last layer, which `- logits` makes");
  return name;
}

const LayerRow& row_at(const YamlReader& at, const std::string& type) {
  if (const LayerRow* row = find_layer_row(type)) return *row;
  std::vector<std::string> types;
  for (const LayerRow& row : layer_rows()) types.emplace_back(row.name);
  at.complain(fmt::format("unknown layer '{}'{}; `trainyard networks schema` has them", type,
                          did_you_mean(type, types)));
}

Branch branch_at(const YamlReader& at) {
  if (at.is_sequence()) return {{}, read_layers(at)};
  if (at.is_mapping()) at.complain("a list of layers, or the name of a layer before, expected");
  return {text_at(at), {}};
}

void read_option(const OptionRow& row, const YamlReader& at, Layer& layer) {
  if (row.kind == OptionRow::Kind::layers) {
    layer.branches[row.name] = {Branch{{}, read_layers(at)}};
  } else if (row.kind == OptionRow::Kind::branches) {
    for (const YamlReader& item : at.items()) layer.branches[row.name].push_back(branch_at(item));
    if (layer.branches[row.name].size() < 2) at.complain("two branches or more expected");
  } else if (row.kind == OptionRow::Kind::kernel && at.is_sequence()) {
    for (const YamlReader& side : at.items()) layer.texts[row.name].push_back(text_at(side));
    if (layer.texts[row.name].size() != 2) at.complain("one number, or rows and columns, expected");
  } else {
    layer.texts[row.name] = {text_at(at)};
  }
}

const OptionRow& option_at(const YamlReader::Entry& entry, const LayerRow& row) {
  std::vector<std::string> names;
  for (const OptionRow& option : row.options) {
    if (entry.key == option.name) return option;
    names.emplace_back(option.name);
  }
  names.insert(names.end(), {"name", "from"});
  entry.at_key.complain(fmt::format("unknown option '{}' of layer '{}'{}: one of {} expected", entry.key,
                                    row.name, did_you_mean(entry.key, names), joined(names, ", ")));
}

void read_options(const YamlReader& at, Layer& layer) {
  const LayerRow& row = *layer.row;
  if (at.is_empty()) return;
  if (!at.is_mapping()) {
    if (row.options.empty())
      at.complain(fmt::format("layer '{}' has no options but name and from", row.name));
    return read_option(row.options.front(), at, layer);
  }
  for (const YamlReader::Entry& entry : at.entries())
    if (entry.key == "name" && std::string_view(row.name) != "logits")
      layer.name = name_at(entry.value);
    else if (entry.key == "from")
      layer.from = text_at(entry.value);
    else
      read_option(option_at(entry, row), entry.value, layer);
}

Layer layer_at(const YamlReader& at) {
  Layer layer{.place = at.place()};
  if (at.is_mapping()) {
    const std::vector<YamlReader::Entry> entries = at.entries();
    if (entries.size() != 1)
      at.complain(fmt::format("a layer is one key, its type, with its options below; {} keys are here: {}",
                              entries.size(), entries.empty() ? "" : entries[0].key + ", " + entries[1].key));
    layer.row = &row_at(entries.front().at_key, entries.front().key);
    read_options(entries.front().value, layer);
  } else {
    if (at.is_sequence() || at.is_empty())
      at.complain("a layer expected, such as `flatten` or `conv: {filters: 32}`");
    layer.row = &row_at(at, at.text());
  }
  for (const OptionRow& option : layer.row->options)
    if (option.fallback == OptionRow::kRequired && !layer.texts.contains(option.name) &&
        !layer.branches.contains(option.name))
      at.complain(fmt::format("layer '{}' wants {}: {}", layer.row->name, option.name, option.about));
  return layer;
}

}  // namespace

std::vector<Layer> read_layers(const YamlReader& list) {
  std::vector<Layer> layers;
  for (const YamlReader& item : list.items()) layers.push_back(layer_at(item));
  return layers;
}

const std::vector<LayerRow>& layer_rows() {
  static const std::vector<LayerRow> kRows = [] {
    std::vector<LayerRow> joined;
    for (const auto family : {image_layers, plain_layers, sequence_layers, block_layers}) {
      std::vector<LayerRow> rows = family();
      joined.insert(joined.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    }
    return joined;
  }();
  return kRows;
}

const LayerRow* find_layer_row(std::string_view name) {
  for (const LayerRow& row : layer_rows())
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace trainyard::networks::layers
