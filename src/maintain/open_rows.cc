#include "maintain/open_rows.h"

#include <algorithm>
#include <utility>

#include "table/recent_rows.h"

namespace timelake::maintain {

std::shared_ptr<arrow::RecordBatchReader> OpenRows(const table::Env* env,
                                                   const iceberg::TableMetadata* metadata,
                                                   const scan::ScanFile& file,
                                                   scan::FileRowsRequest request) {
  const bool whole =
      file.position_deletes.empty() && file.equality_deletes.empty() && file.superseded == nullptr;
  const auto recent =
      whole ? table::RecentRows(*env, file.data->file_path, request.schema) : nullptr;
  if (recent == nullptr || recent->num_rows() != file.data->record_count) {
    return scan::ReadFileRows(env, metadata, file, std::move(request));
  }
  const table::RowRange rows = request.rows.value_or(table::RowRange{0, recent->num_rows()});
  auto reader = arrow::RecordBatchReader::Make({recent->Slice(rows.begin, rows.end - rows.begin)});
  return *std::move(reader);  // fails of no batches only
}

}  // namespace timelake::maintain
