#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/metadata.h"
#include "table/contract.h"
#include "table/env.h"

namespace timelake::index {

// The last-value index (docs/format.md): Parquet files with the table's schema and field ids, one
// row per series (its newest), ordered by series key, nulls first.

// `key + newest` of both sides, `newer` wins on equal times; a row of late data never moves a
// series back. Both inputs and the result are in the table's current schema, ordered by series key.
Result<std::shared_ptr<arrow::RecordBatch>> Merge(const std::shared_ptr<arrow::RecordBatch>& older,
                                                  const std::shared_ptr<arrow::RecordBatch>& newer,
                                                  const iceberg::Schema& schema,
                                                  const table::Contract& contract);

// Newest row of each series of rows in any order (`rows` in order of writes: the last wins on equal
// times).
Result<std::shared_ptr<arrow::RecordBatch>> NewestRows(
    const std::shared_ptr<arrow::RecordBatchReader>& rows, const iceberg::Schema& schema,
    const table::Contract& contract);

// Parquet bytes of an index.
Result<std::shared_ptr<arrow::Buffer>> Encode(const std::shared_ptr<arrow::RecordBatch>& rows,
                                              const iceberg::Schema& schema);

// Reads an index file by field id into the current schema; cached by URI.
Result<std::shared_ptr<arrow::RecordBatch>> Read(const table::Env& env, const std::string& uri,
                                                 const iceberg::Schema& schema);

// An index that is held in memory, in the current schema; null: none is.
std::shared_ptr<arrow::RecordBatch> Recall(const table::Env& env, const std::string& uri,
                                           const iceberg::Schema& schema);

// Keeps an index that was just written, so that the next append of this process reads nothing.
void Remember(const table::Env& env, const std::string& uri, const iceberg::Schema& schema,
              const std::shared_ptr<arrow::RecordBatch>& rows);

// Whether `index` holds once the newest rows `moved` of some series, which it knows already, have
// been moved into other files; kNotFound says why not. Where such a row has the time of its series'
// indexed row and other values, the move may have changed which of the two is later, and the index
// does not say where its row came from: unless `order_kept`, a promise that it has not.
Status CheckMoved(const std::shared_ptr<arrow::RecordBatch>& index,
                  const std::shared_ptr<arrow::RecordBatch>& moved, const iceberg::Schema& schema,
                  const table::Contract& contract, bool order_kept);

// The index that holds at `snapshot`: its own if the summary names one, else an ancestor's extended
// by the files that append- and replace-only snapshots added since (at most `max_bytes` of them).
// nullopt: no index (missing, unreadable, too much to read): the caller scans; the reason is
// logged.
Result<std::optional<std::shared_ptr<arrow::RecordBatch>>> ValidAt(
    const table::Env& env, const iceberg::TableMetadata& metadata,
    const iceberg::Snapshot& snapshot, const table::Contract& contract,
    int64_t max_bytes = 256 << 20);

}  // namespace timelake::index
