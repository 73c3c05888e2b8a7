#include "predict/runs/csv_rows.h"

#include "base/error.h"

namespace trainyard::predict {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<CsvRow> rows() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row{line_, {cell()}};
      while (take(',')) row.cells.push_back(cell());
      take('\r');
      take('\n');
      if (row.cells.size() > 1 || !row.cells[0].empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    line_ += wanted == '\n' ? 1 : 0;
    ++at_;
    return true;
  }

  bool at_end_of_cell() const {
    const std::string_view rest = text_.substr(at_);
    return rest.empty() || rest[0] == ',' || rest[0] == '\n' || rest == "\r" || rest.starts_with("\r\n");
  }

  std::string cell() {
    std::string cell;
    if (take('"')) cell = quoted();
    while (!at_end_of_cell()) cell += text_[at_++];
    return cell;
  }

  std::string quoted() {
    const int begin = line_;
    std::string cell;
    while (true) {
      if (at_ == text_.size())
        fail(ErrorKind::config, "{}:{}: a cell begins with a quote that is never closed", file_, begin);
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return cell;
      line_ += c == '\n' ? 1 : 0;
      cell += c;
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, const std::string& file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return CsvParser(text, file).rows();
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace trainyard::predict
