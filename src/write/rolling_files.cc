#include "write/rolling_files.h"

#include <algorithm>
#include <utility>

#include <arrow/record_batch.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/uuid.h"
#include "store/object_store.h"
#include "table/recent_rows.h"
#include "write/array_bytes.h"
#include "write/kept_group.h"

namespace timelake::write {
namespace {

constexpr int64_t kLeastGroupRows = 8192;
// Where memory is short.
constexpr int64_t kLeastBoundedRows = 256;
// Share of their size in memory that columns take in a file, until a row group tells.
constexpr double kAssumedRatio = 0.25;

std::vector<SortedBy> SortingOf(const Target& target) {
  std::vector<SortedBy> sorting;
  for (const iceberg::SortField& field : target.order.fields) {
    const auto& fields = target.schema.fields;
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& f) { return f.id == field.source_id; });
    sorting.push_back({static_cast<int>(found - fields.begin()),
                       field.direction == iceberg::SortDirection::kDescending,
                       field.null_order == iceberg::NullOrder::kFirst});
  }
  return sorting;
}

// Whether rows planned so may follow in a file opened with `format`. The encodings of a file are
// fixed, and those that its first rows ask for mostly suit the rest; but min and max of a column
// with NaN would mislead other engines.
bool MayFollow(const FileFormat& format, const std::vector<ColumnPlan>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (format.columns[i].statistics && !columns[i].statistics) return false;
  }
  return true;
}

// Twenty bits of the name's hash as four folders, as Iceberg's layout for object stores has them.
std::string HashFolders(const std::string& name) {
  const auto hash = static_cast<uint32_t>(HashString(name));
  std::string folders;
  for (int bit = 19; bit >= 0; --bit) {
    folders += (hash >> bit & 1) != 0 ? '1' : '0';
    if (bit == 16 || bit == 12 || bit == 8 || bit == 0) folders += '/';
  }
  return folders;
}

}  // namespace

Result<FilePlan> FilePlan::Make(const table::Env& env, const Target& target, bool sorted) {
  FilePlan plan;
  plan.env = &env;
  plan.target = &target;
  plan.sorted = sorted;
  if (sorted) plan.sorting = SortingOf(target);
  TL_ASSIGN_OR_RAISE(auto key, store::KeyOf(*env.store, target.location_uri));
  plan.folder_key = key + "/data/";
  plan.folder_uri = target.location_uri + "/data/";
  plan.now_ms = env.clock->NowMicros() / 1000;
  return plan;
}

Result<RollingFiles> RollingFiles::Make(const FilePlan* plan, std::vector<iceberg::Value> partition,
                                        uint64_t seed, int threads,
                                        std::vector<StoredFile>* files) {
  RollingFiles rolling;
  rolling.plan_ = plan;
  TL_ASSIGN_OR_RAISE(rolling.folder_,
                     iceberg::PartitionPath(plan->target->spec, plan->target->schema, partition));
  if (!rolling.folder_.empty()) rolling.folder_ += '/';
  rolling.partition_ = std::move(partition);
  rolling.random_ = SeededRandom(seed);
  rolling.threads_ = threads;
  rolling.files_ = files;
  rolling.ratio_ = kAssumedRatio;
  return rolling;
}

// Wide rows make shorter row groups, so that a file is not many times its target size, nor a row
// group larger than the memory for it.
int64_t RollingFiles::GroupRows(const Rows& rows, int64_t count) const {
  const auto& settings = plan_->target->settings;
  const double row_bytes = 1 + rows.row_bytes;
  const auto fitting =
      static_cast<int64_t>(static_cast<double>(settings.target_file_size_bytes) / row_bytes);
  const auto bounded = static_cast<int64_t>(static_cast<double>(plan_->group_bytes) / row_bytes);
  const int64_t most =
      std::min({settings.row_group_rows, std::max(kLeastGroupRows, fitting),
                std::max(std::min(kLeastBoundedRows, settings.row_group_rows), bounded)});
  if (!plan_->even_groups || count <= most) return most;
  const int64_t groups = (count + most - 1) / most;
  return (count + groups - 1) / groups;
}

FileFormat RollingFiles::format() const {
  FileFormat format;
  format.schema = &plan_->target->schema;
  format.sorting = plan_->sorting;
  format.settings = plan_->target->settings;
  format.threads = threads_;
  return format;
}

Result<FileFormat> RollingFiles::FormatOf(const Rows& rows, const std::vector<uint32_t>& order,
                                          int64_t begin, int64_t end, int64_t group_rows) const {
  const Target& target = *plan_->target;
  std::vector<int> delta_ids;
  if (target.contract.time_id) delta_ids.push_back(*target.contract.time_id);
  FileFormat format = this->format();
  format.columns =
      PlanColumns(target.schema, delta_ids, target.settings, rows, order, begin, end, group_rows);
  // Pages of one length: the last one is then finished on the threads, not when the file is closed.
  const int64_t rows_of_group = std::min(group_rows, end - begin);
  const int64_t pages =
      (rows_of_group + target.settings.data_page_rows - 1) / target.settings.data_page_rows;
  format.page_rows = (rows_of_group + pages - 1) / pages;
  return format;
}

Status RollingFiles::Begin(FileFormat format) {
  open_ = {};
  open_.name = folder_ + FormatUuid(NewUuidV7(plan_->now_ms, *random_)) + ".parquet";
  if (plan_->target->hashed_paths) open_.name = HashFolders(open_.name) + open_.name;
  open_.format = std::move(format);
  TL_ASSIGN_OR_RAISE(auto sink, plan_->env->store->OpenWrite(plan_->folder_key + open_.name));
  TL_ASSIGN_OR_RAISE(open_.writer, DataFileWriter::Open(std::move(sink), open_.format));
  return Status::OK();
}

Status RollingFiles::WriteGroup(const Rows& rows, const RowSlice& slice) {
  const int64_t count = slice.end - slice.begin;
  const std::vector<PartMap::Place> places = PlacesOf(rows, slice);
  // What a merge of large files makes is in memory that is given back as a whole.
  const bool keep = open_.rows == 0 && CurrentPool() == arrow::default_memory_pool() &&
                    static_cast<double>(count) * rows.row_bytes <= table::kMostRecentBytes;
  open_.recent.assign(keep ? rows.columns.size() : 0, nullptr);
  const auto source = [&](int column, int64_t begin,
                          int64_t end) -> Result<std::shared_ptr<arrow::Array>> {
    // Rows in place would be the caller's own memory.
    const RowSlice portion{slice.order, slice.begin + begin, slice.begin + end,
                           slice.in_place && !keep};
    const auto* first = places.empty() ? nullptr : places.data() + begin;
    const auto at = static_cast<size_t>(column);
    TL_ASSIGN_OR_RAISE(auto values,
                       Gather(rows, at, portion, first, open_.format.columns[at].arrow_dictionary));
    if (keep && end - begin == count) open_.recent[at] = values;
    return values;
  };
  TL_RETURN_NOT_OK(open_.writer->WriteRowGroup(count, source));
  TL_RETURN_NOT_OK(CountGroup(count));
  if (open_.flushed_rows > 0) {
    ratio_ = open_.bytes / (open_.flushed_rows * rows.row_bytes + 1);
  }
  return Status::OK();
}

void RollingFiles::KeepRecent(const std::string& uri) {
  int64_t bytes = 0;
  for (const auto& column : open_.recent) {
    if (column == nullptr || static_cast<double>(column->length()) != open_.rows) return;
    bytes += BytesOf(*column->data());
  }
  if (open_.recent.empty()) return;
  auto rows = arrow::RecordBatch::Make(SchemaOf(open_.format), open_.recent.front()->length(),
                                       open_.recent);
  table::KeepRecent(*plan_->env, uri, plan_->target->schema, std::move(rows), bytes);
}

Status RollingFiles::CountGroup(int64_t rows) {
  open_.rows += static_cast<double>(rows);
  TL_ASSIGN_OR_RAISE(const int64_t flushed, open_.writer->FlushedBytes());
  open_.bytes = static_cast<double>(flushed);
  open_.flushed_rows = static_cast<double>(open_.writer->flushed_rows());
  return Status::OK();
}

Status RollingFiles::Keep(const KeptGroup& group) {
  const auto limit = static_cast<double>(plan_->target->settings.target_file_size_bytes);
  if (open_.writer && open_.bytes + static_cast<double>(group.bytes) / 2 > limit) {
    TL_RETURN_NOT_OK(Finish());
  }
  if (!open_.writer) {
    FileFormat like = format();
    for (const KeptGroup::Column& column : group.columns) like.columns.push_back(column.plan);
    TL_RETURN_NOT_OK(Begin(std::move(like)));
  }
  TL_RETURN_NOT_OK(open_.writer->Keep(group));
  return CountGroup(group.rows);
}

Status RollingFiles::Add(const Rows& rows, const std::vector<uint32_t>& order, int64_t begin,
                         int64_t end, bool in_place) {
  const int64_t group_rows = GroupRows(rows, end - begin);
  TL_ASSIGN_OR_RAISE(const FileFormat format, FormatOf(rows, order, begin, end, group_rows));
  if (open_.writer && !MayFollow(open_.format, format.columns)) TL_RETURN_NOT_OK(Finish());
  const auto limit = static_cast<double>(plan_->target->settings.target_file_size_bytes);
  for (; begin < end; begin += group_rows) {
    if (plan_->cancelled && plan_->cancelled()) {
      return MakeError(ErrorKind::kCancelled, plan_->target->table_name + ": append cancelled");
    }
    const RowSlice slice{&order, begin, std::min(end, begin + group_rows), in_place};
    const double more = static_cast<double>(slice.end - slice.begin) / 2;
    const double size =
        open_.bytes + (open_.rows - open_.flushed_rows + more) * rows.row_bytes * ratio_;
    if (open_.writer && size > limit) TL_RETURN_NOT_OK(Finish());
    if (!open_.writer) TL_RETURN_NOT_OK(Begin(format));
    TL_RETURN_NOT_OK(WriteGroup(rows, slice));
  }
  return Status::OK();
}

Status RollingFiles::Finish() {
  if (!open_.writer) return Status::OK();
  TL_ASSIGN_OR_RAISE(iceberg::DataFile file, open_.writer->Close());
  file.file_path = plan_->folder_uri + open_.name;
  file.partition = partition_;
  file.sort_order_id = plan_->sorted ? plan_->target->order.order_id : 0;
  KeepRecent(file.file_path);
  files_->push_back({plan_->folder_key + open_.name, std::move(file)});
  plan_->env->store->SyncSoon({files_->back().key});
  open_ = {};
  return Status::OK();
}

}  // namespace timelake::write
