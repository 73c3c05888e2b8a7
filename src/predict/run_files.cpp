#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "fetch/gzip_file.h"
#include "predict/run_table.h"
#include "record/run_record.h"

namespace trainyard::predict {
namespace {

namespace fs = std::filesystem;

bool holds_record_a_line(const fs::path& path) {
  return path.extension() == ".jsonl" || (path.extension() == ".gz" && path.stem().extension() == ".jsonl");
}

std::string unpacked_text(const fs::path& path) {
  constexpr std::size_t kPiece = 1 << 20, kMost = std::size_t{1} << 32;
  fetch::GzipFile file(path);
  std::string text;
  for (std::size_t read = kPiece; read == kPiece;) {
    if (text.size() >= kMost) fail(ErrorKind::config, "'{}': more than 4 GiB of records", path.string());
    text.resize(text.size() + kPiece);
    read = file.read(text.data() + text.size() - kPiece, kPiece);
    text.resize(text.size() - kPiece + read);
  }
  return text;
}

void read_lines(const fs::path& path, std::vector<record::RunRecord>& records) {
  const std::string text = unpacked_text(path);
  int line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++line;
    try {
      if (end > begin) records.push_back(record::run_record_from_json({text.data() + begin, end - begin}));
    } catch (const Error& error) {
      fail(ErrorKind::config, "'{}' line {}: {}", path.string(), line, error.what());
    }
    begin = end + 1;
  }
}

std::vector<fs::path> record_files(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) fail(ErrorKind::config, "{}: no record files in this folder", path.string());
  return files;
}

}  // namespace

RunTable read_runs(const fs::path& path, const std::string& device_of_records) {
  std::vector<record::RunRecord> records;
  if (holds_record_a_line(path))
    read_lines(path, records);
  else if (fs::is_directory(path) || path.extension() == ".json")
    for (const fs::path& file : record_files(path)) records.push_back(record::read_run_record(file));
  else
    return read_run_csv(path);
  return table_of_records(records, device_of_records, path.string());
}

}  // namespace trainyard::predict
