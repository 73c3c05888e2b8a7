#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interchange/interchange_graph.h"

namespace trainyard::predict {

// Types of ops with how often a corpus has them. Number 0 is any type that it does not have.
class OpVocabulary {
 public:
  static constexpr int kUnknownOp = 0;

  void add(const std::string& type, std::int64_t count = 1);
  void add(const interchange::ExchangeGraph& graph);

  int number(std::string_view type) const;                       // kUnknownOp where it is not known
  int size() const { return static_cast<int>(counts_.size()); }  // with the unknown one
  const std::string& type(int number) const { return counts_[static_cast<std::size_t>(number)].first; }
  std::int64_t count(std::string_view type) const;
  std::int64_t total() const { return total_; }
  double frequency(std::string_view type) const;  // share of all ops; 0 where it is not known

  // "operation,count" and a line a type, the most frequent first. The order of numbers is that of the lines.
  std::string to_csv() const;
  // Reads the same, and tables of shares as GPUAlloc publishes them, with or without a first line of names:
  // those become the smallest whole numbers that have these shares. Error (config) begins with `who`.
  static OpVocabulary from_csv(std::string_view text, const std::string& who);

 private:
  std::vector<std::pair<std::string, std::int64_t>> counts_{{"", 0}};
  std::unordered_map<std::string, int> numbers_;
  std::int64_t total_ = 0;
};

// The smallest whole numbers whose shares of their sum are these; empty where there are none with a sum of at
// most `most`.
std::vector<std::int64_t> whole_numbers(const std::vector<double>& shares, std::int64_t most = 10'000'000);

}  // namespace trainyard::predict
