#include "maintain/merge_kept.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "maintain/in_sequence.h"
#include "maintain/open_rows.h"
#include "store/object_store.h"
#include "write/kept_group.h"

namespace timelake::maintain {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

constexpr size_t kMostOpenFiles = 64;

// A part of a file: a row group that is kept, or rows that are not.
struct Piece {
  const scan::ScanFile* file = nullptr;
  std::optional<write::KeptGroup> kept;
  table::RowRange rows;  // of the file
};

class KeptMerge {
 public:
  KeptMerge(const table::Env& env, const iceberg::TableMetadata& metadata,
            const write::Target& target, const MergeRequest& request, int64_t most_rows,
            MergeOutput* output)
      : env_(env),
        metadata_(metadata),
        target_(target),
        request_(request),
        pending_limit_(std::min(most_rows, target.settings.row_group_rows)),
        output_(output) {}

  // The pieces of a file, in its order. None: it is not of our making.
  Result<std::vector<Piece>> Cut(const scan::ScanFile& file) const {
    TL_ASSIGN_OR_RAISE(const auto key, store::KeyOf(*env_.store, file.data->file_path));
    TL_ASSIGN_OR_RAISE(auto opened, env_.store->OpenRead(key, file.data->file_size_in_bytes));
    TL_ASSIGN_OR_RAISE(const auto kept,
                       write::KeptFile::Open(std::move(opened), *file.data, output_->format()));
    std::vector<Piece> pieces;
    if (!kept) return pieces;
    int64_t row = 0;
    for (int i = 0; i < kept->row_groups(); ++i) {
      Piece piece{&file, std::nullopt, {row, row + kept->rows_of(i)}};
      row = piece.rows.end;
      if (2 * kept->rows_of(i) >= target_.settings.row_group_rows) {
        TL_ASSIGN_OR_RAISE(piece.kept, kept->Group(i));
      }
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  Status Run(std::vector<Piece> pieces, int64_t* read) {
    for (Piece& piece : pieces) {
      if (request_.cancelled && request_.cancelled()) {
        return MakeError(ErrorKind::kCancelled, target_.table_name + ": compaction cancelled");
      }
      const int64_t rows = piece.rows.end - piece.rows.begin;
      *read += rows;
      if (!piece.kept) {
        if (pending_rows_ + rows > pending_limit_) TL_RETURN_NOT_OK(WritePending());
        pending_rows_ += rows;
        pending_.push_back(&piece);
        continue;
      }
      TL_RETURN_NOT_OK(WritePending());
      TL_RETURN_NOT_OK(output_->Keep(*piece.kept));
      // The series' newest row is its last; whether others of it follow does not matter here.
      TL_ASSIGN_OR_RAISE(const auto last, Read(piece, {piece.rows.end - 1, piece.rows.end}));
      TL_RETURN_NOT_OK(output_->AddNewest(last, {0}));
      piece.kept.reset();
    }
    TL_RETURN_NOT_OK(WritePending());
    return output_->Finish();
  }

 private:
  Result<write::Rows> Read(const Piece& piece, table::RowRange rows) const {
    TL_ASSIGN_OR_RAISE(auto batches, ReadBatches(piece, rows));
    return write::Combine(output_->unpartitioned(), std::move(batches), 1);
  }

  Result<std::vector<Batch>> ReadBatches(const Piece& piece, table::RowRange rows) const {
    return OpenRows(&env_, &metadata_, *piece.file, {.schema = target_.schema, .rows = rows})
        ->ToRecordBatches();
  }

  Status WritePending() {
    std::vector<Batch> batches;
    for (const Piece* piece : std::exchange(pending_, {})) {
      TL_ASSIGN_OR_RAISE(auto more, ReadBatches(*piece, piece->rows));
      std::move(more.begin(), more.end(), std::back_inserter(batches));
    }
    if (std::exchange(pending_rows_, 0) == 0) return Status::OK();
    TL_ASSIGN_OR_RAISE(const auto rows, write::Combine(output_->unpartitioned(), std::move(batches),
                                                       MachineThreads()));
    TL_ASSIGN_OR_RAISE(const auto arrangement, write::ArrangeRows(output_->unpartitioned(), rows));
    return output_->Add(rows, arrangement);
  }

  const table::Env& env_;
  const iceberg::TableMetadata& metadata_;
  const write::Target& target_;
  const MergeRequest& request_;
  const int64_t pending_limit_;
  MergeOutput* output_;
  std::vector<const Piece*> pending_;
  int64_t pending_rows_ = 0;
};

}  // namespace

Result<bool> MergeKept(const table::Env& env, const iceberg::TableMetadata& metadata,
                       const write::Target& target, const MergeRequest& request, int64_t most_rows,
                       int64_t most_bytes, MergeOutput* output,
                       std::vector<write::StoredFile>* files, int64_t* read) {
  // With dedup a writer of this format leaves one row of each series and time in a file, and times
  // of different files do not touch.
  if (!request.sorted || request.files.size() > kMostOpenFiles) return false;
  const auto sequence = InSequence(target, request.files);
  if (!sequence) return false;
  const bool long_enough =
      std::any_of(sequence->begin(), sequence->end(), [&](const scan::ScanFile* file) {
        return 2 * file->data->record_count >= target.settings.row_group_rows;
      });
  if (!long_enough) return false;
  TL_RETURN_NOT_OK(output->Begin(files));
  KeptMerge merge(env, metadata, target, request, most_rows, output);
  std::vector<Piece> pieces;
  int64_t rows = 0, kept = 0;
  for (const scan::ScanFile* file : *sequence) {
    TL_ASSIGN_OR_RAISE(auto more, merge.Cut(*file));
    if (more.empty()) return false;
    for (Piece& piece : more) {
      const int64_t length = piece.rows.end - piece.rows.begin;
      if (piece.kept ? piece.kept->bytes > most_bytes : length > most_rows) return false;
      rows += length;
      if (piece.kept) kept += length;
      pieces.push_back(std::move(piece));
    }
  }
  if (2 * kept < rows) return false;
  TL_RETURN_NOT_OK(merge.Run(std::move(pieces), read));
  return true;
}

}  // namespace timelake::maintain
