#include "cli/op_corpus.h"

#include "base/file.h"

namespace trainyard::cli {

predict::OpVocabulary count_ops(const std::vector<std::string>& sources, const GraphOptions& options) {
  predict::OpVocabulary corpus;
  for (const std::string& source : sources) corpus.add(graph_of(source, options));
  if (sources.empty())
    for (const networks::NetworkInfo& info : networks::all_networks())
      corpus.add(graph_of(info.name, options));
  // In the order of its file, so that numbers of ops do not depend on how the corpus was made.
  return corpus.total() == 0 ? corpus : predict::OpVocabulary::from_csv(corpus.to_csv(), "corpus");
}

predict::OpVocabulary read_vocabulary(const std::filesystem::path& file) {
  if (file.empty()) return count_ops({}, {.step = "training"});
  const std::vector<std::byte> text = read_file(file);
  return predict::OpVocabulary::from_csv({reinterpret_cast<const char*>(text.data()), text.size()},
                                         "'" + file.string() + "'");
}

}  // namespace trainyard::cli
