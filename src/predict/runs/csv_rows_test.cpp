#include "predict/runs/csv_rows.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::predict {
namespace {

using Cells = std::vector<std::vector<std::string>>;

Cells cells_of(std::string_view text) {
  Cells cells;
  for (CsvRow& row : parse_csv(text, "runs.csv")) cells.push_back(std::move(row.cells));
  return cells;
}

TEST(CsvRowsTest, CellsAreReadAsSpreadsheetsWriteThem) {
  EXPECT_EQ(cells_of("a,b\n1,2\n"), (Cells{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(cells_of("\xEF\xBB\xBF\"a\",b\r\n1,\r\n\r\n,2"), (Cells{{"a", "b"}, {"1", ""}, {"", "2"}}));
  EXPECT_EQ(cells_of("\"Titan X, 12 GB\",\"two\nlines\",\"a \"\"b\"\"\"\n"),
            (Cells{{"Titan X, 12 GB", "two\nlines", "a \"b\""}}));
  EXPECT_EQ(cells_of(""), Cells{});
  EXPECT_EQ(cells_of("a,\"\"\r"), (Cells{{"a", ""}}));
}

TEST(CsvRowsTest, LinesAreThoseOfTheFile) {
  const std::vector<CsvRow> rows = parse_csv("a\n\"b\nc\"\n\nd\n", "runs.csv");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].line, 2);
  EXPECT_EQ(rows[2].line, 5);
  expect_error(ErrorKind::config, "runs.csv:2: a cell begins with a quote",
               [] { parse_csv("a\n\"b\nc\n", "runs.csv"); });
}

TEST(CsvRowsTest, CellsAreWrittenSoThatTheyCanBeRead) {
  for (const std::string text : {"plain", "a,b", "a \"b\"", "two\nlines", ""})
    EXPECT_EQ(parse_csv("x," + csv_cell(text), "")[0].cells[1], text);
}

}  // namespace
}  // namespace trainyard::predict
