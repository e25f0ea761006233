#include "scan/page_prune.h"

#include <algorithm>
#include <utility>

#include "scan/prune.h"
#include "table/page_index.h"

namespace timelake::scan {
namespace {

using table::DataFileReader;
using table::PageIndex;
using table::RowRange;
using table::RowRanges;

ColumnFacts FactsOfPage(const DataFileReader& reader, const PlacedTest& placed,
                        const PageIndex& index, size_t page, bool no_nan) {
  const DataFileReader::Stats stats = reader.page_stats(placed.column, index, page);
  const RowRange rows = index.rows_of(page);
  ColumnFacts facts;
  // Writers that did not mind NaN have left wrong maxima.
  const auto type = placed.field->type.id;
  const bool is_float = type == iceberg::TypeId::kFloat || type == iceberg::TypeId::kDouble;
  const bool has_max = stats.max && (!is_float || no_nan);
  facts.SetBounds(placed.field->type, stats.min ? &*stats.min : nullptr,
                  has_max ? &*stats.max : nullptr);
  if (stats.null_count) {
    facts.may_be_null = *stats.null_count != 0;
    facts.may_be_value = *stats.null_count < rows.end - rows.begin;
    if (!facts.may_be_value) facts.may_be_nan = false;
  }
  if (no_nan) facts.may_be_nan = false;
  return facts;
}

}  // namespace

std::vector<PlacedTest> Place(const std::vector<ColumnTest>& tests,
                              const std::vector<iceberg::Field>& columns) {
  std::vector<PlacedTest> placed;
  for (const ColumnTest& test : tests) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].id != test.field_id || !columns[i].type.is_primitive()) continue;
      placed.push_back({&test, &columns[i], i});
      break;
    }
  }
  return placed;
}

Result<bool> NoneByBloomFilter(DataFileReader& reader, int row_group,
                               const std::vector<PlacedTest>& tests) {
  for (const PlacedTest& placed : tests) {
    const ColumnTest& test = *placed.test;
    if (test.op != Op::kEq && test.op != Op::kIn) continue;
    TL_ASSIGN_OR_RAISE(const bool may, reader.MayHold(row_group, placed.column, test.values));
    if (!may) return true;
  }
  return false;
}

Result<RowRanges> MayPass(DataFileReader& reader, int row_group, const iceberg::DataFile& file,
                          RowRanges rows, const std::vector<PlacedTest>& tests) {
  for (const PlacedTest& placed : tests) {
    if (rows.empty()) break;
    TL_ASSIGN_OR_RAISE(const auto index, reader.Pages(row_group, placed.column));
    if (!index || index->bounds.empty()) continue;
    const bool no_nan = KnownWithoutNan(file, placed.field->id);
    RowRanges passing;
    for (size_t page = 0; page < index->pages.size(); ++page) {
      const RowRange of_page = index->rows_of(page);
      if (!Overlaps(rows, of_page)) continue;
      const ColumnFacts facts = FactsOfPage(reader, placed, *index, page, no_nan);
      if (!NoRowPasses(*placed.test, placed.field->type, facts)) Append(of_page, &passing);
    }
    rows = Intersection(rows, passing);
  }
  return rows;
}

Result<bool> AllPass(DataFileReader& reader, int row_group, const iceberg::DataFile& file,
                     const RowRanges& rows, const std::vector<PlacedTest>& tests) {
  for (const PlacedTest& placed : tests) {
    if (AllRowsPass(*placed.test, placed.field->type, FactsOf(file, *placed.field))) continue;
    TL_ASSIGN_OR_RAISE(const auto index, reader.Pages(row_group, placed.column));
    if (!index || index->bounds.empty()) return false;
    const bool no_nan = KnownWithoutNan(file, placed.field->id);
    for (const RowRange& range : rows) {
      for (size_t page = index->page_of(range.begin);
           page < index->pages.size() && index->pages[page].first_row < range.end; ++page) {
        const ColumnFacts facts = FactsOfPage(reader, placed, *index, page, no_nan);
        if (!AllRowsPass(*placed.test, placed.field->type, facts)) return false;
      }
    }
  }
  return true;
}

}  // namespace timelake::scan
