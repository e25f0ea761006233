#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "table/contract.h"
#include "table/env.h"
#include "table/settings.h"

namespace timelake::write {

// What an append writes to: a table's schema, spec, order and contract at the version that it
// starts from.
struct Target {
  std::string table_name;    // for messages
  std::string location_uri;  // of the table folder
  iceberg::Schema schema;
  iceberg::PartitionSpec spec;
  iceberg::SortOrder order;  // order 1 of ours, or whatever the table declares
  table::Contract contract;
  table::Settings settings;
  bool hashed_paths = false;  // write.object-storage.enabled: folders of a hash before all others
};

struct WriteOptions {
  OnFuture on_future = OnFuture::kError;
  int64_t now_us = 0;  // fills the ingest-time column; max-future counts from it
  int threads = 0;     // 0: as many as the machine has
  std::function<bool()> cancelled;
  // The target's spec without its buckets, which rows of many chunks may be written with: few files
  // instead of very many tiny ones.
  std::optional<iceberg::PartitionSpec> coarse_spec = std::nullopt;
  // Called with Written::newest as soon as that is known, beside the writing of files; may be
  // empty.
  std::function<void(const std::shared_ptr<arrow::RecordBatch>&)> on_newest = {};
};

struct Written {
  std::vector<iceberg::DataFile> files;  // in the order of their paths
  std::vector<std::string> keys;         // store keys of the files, for Sync and clean-up
  int spec_id = 0;                       // that all of them are partitioned by
  int64_t rows_in = 0;
  int64_t rows = 0;        // rows in the files
  int64_t skipped = 0;     // dropped by on_future
  int64_t duplicates = 0;  // dropped because a later row of this append has the same key and time
  int64_t bytes = 0;
  // The newest row of each series of this append, in table schema, ordered by series key (nulls
  // first); null for plain tables.
  std::shared_ptr<arrow::RecordBatch> newest;
};

// align -> sort -> split -> encode. Reads all of `reader`, writes data files that no metadata names
// yet. On error every file written so far is deleted. Input order decides between equal (series,
// time): the last wins.
Result<Written> WriteData(const table::Env& env, const Target& target,
                          arrow::RecordBatchReader* reader, const WriteOptions& options);

}  // namespace timelake::write
