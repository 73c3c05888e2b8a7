#pragma once

#include "graph/graph.h"

namespace trainyard::networks::layers {

class LayerBuilder;
struct LayerRow;
struct Branch;

// A text of the file with its place, "net.yaml:7:5".
struct Text {
  std::string text, place;
};

// A Layer is one entry of a list of layers, as the file has it. It needs the file no more.
struct Layer {
  const LayerRow* row = nullptr;
  std::string place;
  std::string name;  // empty: the builder makes one
  Text from;         // the layer that it reads; empty: the one before
  std::map<std::string, std::vector<Text>, std::less<>> texts;       // of the options that are given
  std::map<std::string, std::vector<Branch>, std::less<>> branches;  // of those that are lists of layers
};

// A Branch is a list of layers on what a block reads, or the name of a layer before.
struct Branch {
  Text from;
  std::vector<Layer> layers;
};

struct OptionRow {
  enum class Kind : std::uint8_t { whole, real, word, flag, kernel, padding, layer, layers, branches };
  static constexpr const char* kRequired = nullptr;

  const char* name;
  Kind kind;
  const char* about;
  const char* fallback = kRequired;  // as text; "": it may be left out
  double least = 1, most = 1;        // of numbers
  std::vector<std::string> choices = {};

  bool is_list() const { return kind == Kind::layers || kind == Kind::branches; }
};

// Says what a layer may read; the bits are joined.
enum Form : unsigned {
  kImage = 1,     // (N, C, H, W)
  kFeatures = 2,  // (N, numbers)
  kSteps = 4,     // of sequences: rows (T * N, numbers), or (T, N, numbers) where a recurrent layer made them
  kTokens = 8,    // i32 (T, N)
  kNumbers = kImage | kFeatures | kSteps,
};

// A LayerRow is one type of layers: all that reader, builder, schema and documents know of it.
struct LayerRow {
  const char* name;
  const char* about;
  unsigned takes;                  // Forms
  std::vector<OptionRow> options;  // `type: value` gives the first one
  // `name` is the full name of the layer, which its parameters begin with.
  graph::ValueId (*build)(LayerBuilder& builder, const Layer& layer, const std::string& name,
                          graph::ValueId x);
  bool is_block = false;  // its name, where one is given, goes before those of its layers
};

// All types of layers, those of a family together. `name` and `from` are options of all.
const std::vector<LayerRow>& layer_rows();
const LayerRow* find_layer_row(std::string_view name);  // nullptr when there is none

// The families.
std::vector<LayerRow> image_layers();
std::vector<LayerRow> plain_layers();
std::vector<LayerRow> sequence_layers();
std::vector<LayerRow> block_layers();

}  // namespace trainyard::networks::layers
