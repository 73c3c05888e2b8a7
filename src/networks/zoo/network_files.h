#pragma once

#include "networks/zoo/zoo.h"

namespace trainyard::networks {

// A FileWeight is a parameter or statistic as its file writes it, which our ops may arrange otherwise.
struct FileWeight {
  std::string name;
  std::vector<std::int64_t> dims;
};

// A NetworkFile is a network that lies in a file, "mine.onnx", and has the file's name. A file that describes
// layers has a generator that builds them, as a generated network has; one that is imported brings a graph of
// its own.
struct NetworkFile {
  NetworkInfo info;
  generator::Generator generator;  // info's; of an imported network where it reads sequences
  std::string note;                // for people: whence its first weights are
  // All that follows is of an imported network alone.
  // As ModelOptions::imported says. Parameters and statistics start from what the file holds.
  std::function<graph::Graph(std::int64_t batch, bool training)> build;
  std::string obstacle;  // why it cannot be trained, though its forward pass can run; empty: it can
  std::vector<FileWeight> weights;
  // Returns what parameters and statistics would start from if the file had these numbers under these names
  // of `weights`; those that are not named are left out.
  std::function<std::map<std::string, graph::Initializer>(
      const std::map<std::string, std::vector<double>>& numbers)>
      arrange;
  // Returns the same network with so many classes: its last layer starts from random numbers. Error
  // (unsupported) where the layer cannot have them.
  std::function<std::shared_ptr<const NetworkFile>(int classes)> with_classes;
};

// Throws Error (config) when the file cannot be read, (unsupported) when its network cannot be run.
using ReadNetworkFile = std::shared_ptr<const NetworkFile> (*)(const std::filesystem::path& file);

// Makes names with this end (".onnx") those of files. The room that reads such files calls it, before any
// network is looked up; a second call for the same end changes nothing.
void read_network_files(const char* end, ReadNetworkFile read);

// Returns whether the name has such an end; the file need not be there.
bool names_network_file(std::string_view name);

// Returns nullptr for a name that has none of these ends. A file is read once. Any thread may call both.
std::shared_ptr<const NetworkFile> network_file(std::string_view name);
std::shared_ptr<const NetworkFile> imported_file(
    std::string_view name);  // nullptr also where it describes layers

// Gives a network that is a file so many classes, unless it has them; 0: its own. Error (unsupported) where
// it cannot have them.
void give_classes(const NetworkFile& file, int classes, ModelOptions& model);

}  // namespace trainyard::networks
