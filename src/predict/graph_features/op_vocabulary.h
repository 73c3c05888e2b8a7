#pragma once

#include <unordered_map>

#include "interchange/interchange_graph.h"

namespace trainyard::predict {

// OpVocabulary holds types of ops with their frequency in a corpus. Number 0 stands for any type that is not
// in the corpus.
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

  // Writes "operation,count" and a line for each type, the most frequent first. Numbers follow the order of
  // lines.
  std::string to_csv() const;
  // Reads that form, and tables of shares as GPUAlloc publishes them, with or without a header line. Shares
  // become the smallest whole numbers that have these shares. Throws Error (config), beginning with `who`.
  static OpVocabulary from_csv(std::string_view text, const std::string& who);

 private:
  std::vector<std::pair<std::string, std::int64_t>> counts_{{"", 0}};
  std::unordered_map<std::string, int> numbers_;
  std::int64_t total_ = 0;
};

// Returns the smallest whole numbers that have these shares of their sum; empty where there are none with a
// sum of at most `most`.
std::vector<std::int64_t> whole_numbers(const std::vector<double>& shares, std::int64_t most = 10'000'000);

}  // namespace trainyard::predict
