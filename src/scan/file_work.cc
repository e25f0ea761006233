#include "scan/file_work.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <parquet/metadata.h>

#include "base/text.h"
#include "scan/prune.h"
#include "table/page_index.h"

namespace timelake::scan {
namespace {

using iceberg::Field;
using table::RowRange;
using table::RowRanges;

// A morsel has about this many rows, or fewer where rows are wide or there is little to read.
constexpr int64_t kMorselRows = 1 << 17;
constexpr int64_t kMinMorselRows = 1 << 14;
constexpr int64_t kMorselBytes = 64 << 20;  // uncompressed

size_t AddColumn(const Field& field, std::vector<Field>* columns) {
  const auto known = std::find_if(columns->begin(), columns->end(),
                                  [&](const Field& column) { return column.id == field.id; });
  const auto place = static_cast<size_t>(known - columns->begin());
  if (known == columns->end()) columns->push_back(field);
  return place;
}

// Of a row group's columns that are read.
int64_t BytesOfRow(const FileWork& file, int row_group) {
  const auto& footer = file.reader->metadata();
  const auto metadata = footer.RowGroup(row_group);
  if (metadata->num_rows() == 0) return 1;
  int64_t bytes = 0;
  for (int i = 0; i < footer.num_columns(); ++i) {
    const parquet::schema::Node& root = *footer.schema()->GetColumnRoot(i);
    const bool read =
        std::any_of(file.columns().begin(), file.columns().end(), [&](const Field& field) {
          return root.field_id() >= 0 ? root.field_id() == field.id : root.name() == field.name;
        });
    if (read) bytes += metadata->ColumnChunk(i)->total_uncompressed_size();
  }
  return std::max<int64_t>(1, bytes / metadata->num_rows());
}

// How the columns of a row group can be read.
struct Access {
  std::shared_ptr<const table::PageIndex> boundaries;  // of one column: where to cut best
  std::vector<bool> streamed;
  bool any_streamed = false;
};

Result<Access> AccessOf(const FileWork& file, int row_group, Counters* counters) {
  Access access;
  for (size_t column = 0; column < file.columns().size(); ++column) {
    TL_ASSIGN_OR_RAISE(auto index, file.reader->Pages(row_group, column));
    const bool streamed = !index && !file.reader->is_missing(column);
    access.streamed.push_back(streamed);
    access.any_streamed = access.any_streamed || streamed;
    if (!index) continue;
    counters->pages_total += static_cast<int64_t>(index->pages.size());
    if (!access.boundaries) access.boundaries = std::move(index);
  }
  return access;
}

// Morsels of at most `most` rows, from `first` on ever larger ones: a query that wants few rows has
// them soon.
void Cut(const std::shared_ptr<const FileWork>& file, int row_group, const RowRanges& rows,
         int64_t first, int64_t most, const table::PageIndex* pages, std::vector<Morsel>* morsels) {
  RowRanges current;
  int64_t count = 0;
  int64_t morsel_rows = std::min(first, most);
  const auto finish = [&] {
    if (count > 0) morsels->push_back({file, row_group, std::exchange(current, {}), {}, 0});
    count = 0;
    morsel_rows = std::min(2 * morsel_rows, most);
  };
  for (const RowRange& range : rows) {
    for (int64_t row = range.begin; row < range.end;) {
      int64_t end = std::min(range.end, row + morsel_rows - count);
      if (pages && end < range.end) {
        // To the end of the page that it lies in.
        end = std::min(range.end, pages->rows_of(pages->page_of(end - 1)).end);
      }
      table::Append({row, end}, &current);
      count += end - row;
      row = end;
      if (count >= morsel_rows) finish();
    }
  }
  finish();
}

}  // namespace

Result<std::vector<arrow::io::ReadRange>> RangesOf(const Morsel& morsel) {
  // Not those that are only there for the sake of their page bounds.
  const FileWork& file = *morsel.file;
  std::set<size_t> columns(file.output.begin(), file.output.end());
  columns.insert(file.filter_columns.begin(), file.filter_columns.end());
  columns.insert(file.delete_columns.begin(), file.delete_columns.end());
  std::vector<arrow::io::ReadRange> ranges;
  for (const size_t column : columns) {
    if (!morsel.streamed.empty() && morsel.streamed[column]) continue;
    TL_ASSIGN_OR_RAISE(const auto some, file.reader->Ranges(morsel.row_group, column, morsel.rows));
    ranges.insert(ranges.end(), some.begin(), some.end());
  }
  return ranges;
}

std::vector<std::pair<int, iceberg::Value>> PartitionConstants(
    const iceberg::TableMetadata& metadata, const ScanFile& file) {
  std::vector<std::pair<int, iceberg::Value>> constants;
  const iceberg::PartitionSpec* spec = iceberg::SpecById(metadata, file.spec_id);
  if (!spec || spec->fields.size() != file.data->partition.size()) return constants;
  for (size_t i = 0; i < spec->fields.size(); ++i) {
    if (spec->fields[i].transform.kind == iceberg::TransformKind::kIdentity) {
      constants.emplace_back(spec->fields[i].source_id, file.data->partition[i]);
    }
  }
  return constants;
}

Result<std::shared_ptr<FileWork>> OpenFile(const table::Env& env,
                                           const iceberg::TableMetadata& metadata,
                                           const ScanFile& file, size_t index,
                                           const ScanRequest& request) {
  if (ToLowerAscii(file.data->file_format) != "parquet") {
    return Unsupported("{}: data files of format {} are not read", file.data->file_path,
                       file.data->file_format);
  }
  auto work = std::make_shared<FileWork>();
  work->index = index;
  work->file = file.data.get();
  work->request.uri = file.data->file_path;
  if (file.data->file_size_in_bytes > 0) work->request.size = file.data->file_size_in_bytes;
  work->request.constants = PartitionConstants(metadata, file);
  work->request.keep_dictionaries = request.keep_dictionaries;
  std::vector<Field>& columns = work->request.fields;
  const auto add = [&](int field_id) {
    return AddColumn(*iceberg::FindFieldById(request.schema, field_id), &columns);
  };
  for (int id : request.field_ids) work->output.push_back(add(id));
  for (const ColumnFilter& filter : request.filters) {
    work->filter_columns.push_back(add(filter.field_id));
  }
  TL_ASSIGN_OR_RAISE(work->deletes, FileDeletes::Load(env, metadata, request.schema, file));
  for (const Field& column : work->deletes->columns()) {
    work->delete_columns.push_back(AddColumn(column, &columns));
  }
  for (const ColumnTest& test : request.predicate.all_of) {
    const Field* field = iceberg::FindFieldById(request.schema, test.field_id);
    if (field && field->type.is_primitive()) AddColumn(*field, &columns);
  }
  work->tests = Place(request.predicate.all_of, columns);
  for (const ColumnFilter& filter : request.filters) {
    work->filter_tests.push_back(Place(filter.tests, columns));
  }
  TL_ASSIGN_OR_RAISE(work->reader, table::OpenDataFile(env, work->request));
  return work;
}

Result<std::vector<Morsel>> Split(const std::shared_ptr<const FileWork>& file,
                                  const ScanRequest& request, Counters* counters) {
  table::DataFileReader& reader = *file->reader;
  std::vector<Morsel> morsels;
  for (int i = 0; i < reader.num_row_groups(); ++i) {
    ++counters->row_groups_total;
    bool skip = CanSkipRowGroup(reader, i, *file->file, request.schema, request.predicate);
    if (!skip) {
      TL_ASSIGN_OR_RAISE(skip, NoneByBloomFilter(reader, i, file->tests));
    }
    if (skip) {
      ++counters->row_groups_pruned;
      continue;
    }
    const int64_t count = reader.row_group_rows(i);
    if (count > std::numeric_limits<uint32_t>::max()) {
      return Unsupported("{}: row group {} has {} rows", file->file->file_path, i, count);
    }
    counters->rows_total += count;
    TL_ASSIGN_OR_RAISE(Access access, AccessOf(*file, i, counters));
    TL_ASSIGN_OR_RAISE(auto rows, MayPass(reader, i, *file->file, {{0, count}}, file->tests));
    const int64_t left = table::CountRows(rows);
    counters->rows_read += left;
    if (left == 0) continue;
    if (access.any_streamed) {
      morsels.push_back({file, i, std::move(rows), std::move(access.streamed), 0});
      continue;
    }
    const int64_t fair = left / (2 * std::max(1, request.threads)) + 1;
    const int64_t fitting = kMorselBytes / BytesOfRow(*file, i) + 1;
    const int64_t morsel_rows = std::min(fitting, std::clamp(fair, kMinMorselRows, kMorselRows));
    const int64_t first = file->index == 0 && i == 0 ? kMinMorselRows : morsel_rows;
    Cut(file, i, rows, first, morsel_rows, access.boundaries.get(), &morsels);
  }
  return morsels;
}

}  // namespace timelake::scan
