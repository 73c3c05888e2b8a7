#pragma once

#include "backend/kernel.h"

namespace trainyard::backend::cuda {

// The result of measuring several ways to do one thing.
struct Tuned {
  std::string name;    // of the fastest, for people: "engine 52"
  std::string choice;  // all that is needed to take it again
  double seconds = 0;  // 0: it was taken without measuring
  std::vector<Alternative> slower;

  std::string to_string() const;  // "engine 52, 12.3 us"
};

// Tuning holds the measurements of one kind of device with one version of the libraries, each under a key
// that names its subject. A file keeps them, one line of JSON each (docs/formats/tuning.md); several
// processes may add to it at once.
class Tuning {
 public:
  // Without a file the measurements live as long as this object. Lines that cannot be read are skipped.
  // Measurements made with little effort are kept apart.
  explicit Tuning(std::filesystem::path file = {}, Effort effort = Effort::full);

  Effort effort() const { return effort_; }

  // Null when it was never measured.
  const Tuned* find(const std::string& key) const;
  // A file that cannot be written is no error: the next process measures again.
  void put(const std::string& key, Tuned tuned);

 private:
  std::string kept_as(const std::string& key) const;

  std::filesystem::path file_;
  Effort effort_;
  std::map<std::string, Tuned> known_;
};

// Returns the file for the measurements of this device; empty when there is no cache folder.
std::filesystem::path tuning_file(const std::string& device, const std::string& versions);

// Changes whenever this program is built anew.
std::string program_identity();

struct Way {
  std::string name, choice;  // as in Tuned
};

// Times each way; those whose launch fails (Error of kind device) lose. `winner` is -1 when all fail.
struct Contest {
  int winner = -1;
  Tuned tuned;
};
Contest find_fastest(Device& device, const std::vector<Way>& ways,
                     const std::function<void(std::size_t)>& launch, Effort effort = Effort::full);

}  // namespace trainyard::backend::cuda
