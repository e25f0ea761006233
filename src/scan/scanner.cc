#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "iceberg/arrow_schema.h"
#include "scan/file_work.h"
#include "base/parallel.h"
#include "scan/prune.h"
#include "scan/read_ahead.h"
#include "scan/scan.h"

namespace timelake::scan {
namespace {

// Files opened at once: enough to hide an object store's latency, few enough that a query that
// stops early has not looked into many for nothing.
constexpr size_t kFilesAtOnce = 16;

// Files with the wanted end of a column's values first; those that do not tell come last.
void Sort(const iceberg::Schema& schema, const FileOrder& order, std::vector<ScanFile>* files) {
  const iceberg::Field* field = iceberg::FindFieldById(schema, order.field_id);
  if (!field || !field->type.is_primitive()) return;
  std::vector<std::pair<std::optional<iceberg::Value>, ScanFile>> keyed;
  for (ScanFile& file : *files) {
    ColumnFacts facts = FactsOf(*file.data, *field);
    keyed.emplace_back(order.descending ? std::move(facts.upper) : std::move(facts.lower),
                       std::move(file));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    if (!a.first || !b.first) return a.first.has_value() && !b.first.has_value();
    const std::optional<int> compared = CompareValues(*a.first, *b.first);
    return compared && (order.descending ? *compared > 0 : *compared < 0);
  });
  files->clear();
  for (auto& [key, file] : keyed) files->push_back(std::move(file));
}

class ScannerImpl : public Scanner {
 public:
  ScannerImpl(const table::Env& env, const iceberg::TableMetadata& metadata, Plan plan,
              ScanRequest request, std::vector<iceberg::Field> fields)
      : env_(env), metadata_(metadata), plan_(std::move(plan)), request_(std::move(request)) {
    iceberg::Schema out;
    out.fields = std::move(fields);
    schema_ = iceberg::ToArrow(out);
    if (request_.row_ids) {
      schema_ = *schema_->AddField(schema_->num_fields(), RowIdField());
    }
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  const Plan& plan() const override { return plan_; }

  Result<std::shared_ptr<arrow::RecordBatchReader>> Next(RowFilter* filter, RowId* first) override {
    while (true) {
      TL_ASSIGN_OR_RAISE(std::optional<Morsel> morsel, TakeMorsel());
      if (!morsel) return nullptr;
      if (first) {
        const int64_t offset = morsel->file->reader->row_group_offset(morsel->row_group);
        *first = {morsel->file->index, offset + morsel->rows.front().begin};
      }
      auto reader = Read(*std::move(morsel), filter);
      if (reader.ok() && !*reader) continue;
      if (!reader.ok()) Fail(reader.status());
      return reader;
    }
  }

 private:
  // A morsel, from the queue or of the next files. Waits while other threads look into files, as
  // they may leave morsels.
  Result<std::optional<Morsel>> TakeMorsel() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (!failure_.ok()) return failure_;
      if (!ready_.empty()) {
        Morsel morsel = std::move(ready_.front());
        ready_.pop_front();
        ahead_.Took(morsel);
        ahead_.Fill(&ready_);
        return morsel;
      }
      if (next_file_ == plan_.files.size() && looking_ == 0) return std::nullopt;
      if (next_file_ == plan_.files.size() || looking_ > 0) {
        changed_.wait(lock);
        continue;
      }
      const size_t first = next_file_;
      next_file_ = std::min(plan_.files.size(), first + kFilesAtOnce);
      const size_t end = next_file_;
      ++looking_;
      lock.unlock();
      auto morsels = Look(first, end);
      lock.lock();
      --looking_;
      if (!morsels.ok() && failure_.ok()) failure_ = morsels.status();
      if (morsels.ok()) std::move(morsels->begin(), morsels->end(), std::back_inserter(ready_));
      ahead_.Fill(&ready_);
      changed_.notify_all();
    }
  }

  void Fail(const Status& status) {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    changed_.notify_all();
  }

  std::vector<ColumnTest> LiveTests() const {
    return request_.live_tests ? request_.live_tests() : std::vector<ColumnTest>();
  }

  // Opens some files and cuts them into morsels, in their order.
  Result<std::vector<Morsel>> Look(size_t first, size_t end) {
    const Predicate live{LiveTests()};
    std::vector<std::vector<Morsel>> found(end - first);
    // Those of the next files come while these are read.
    for (size_t i = end; i < std::min(plan_.files.size(), end + kFilesAtOnce); ++i) {
      const iceberg::DataFile& next = *plan_.files[i].data;
      table::FetchTail(env_, next.file_path, next.file_size_in_bytes);
    }
    const bool waits = std::any_of(
        plan_.files.begin() + static_cast<std::ptrdiff_t>(first),
        plan_.files.begin() + static_cast<std::ptrdiff_t>(end),
        [&](const ScanFile& file) { return table::MustFetchTail(env_, file.data->file_path); });
    TL_RETURN_NOT_OK(RunConcurrently(end - first, kFilesAtOnce, waits, [&](size_t i) -> Status {
      const ScanFile& file = plan_.files[first + i];
      const iceberg::PartitionSpec* spec = iceberg::SpecById(metadata_, file.spec_id);
      if (spec && !live.all_of.empty() && CanSkipFile(*file.data, *spec, request_.schema, live)) {
        ++plan_.counters->files_pruned;
        return Status::OK();
      }
      TL_ASSIGN_OR_RAISE(auto work, OpenFile(env_, metadata_, file, first + i, request_));
      TL_ASSIGN_OR_RAISE(found[i], Split(work, request_, plan_.counters.get()));
      return Status::OK();
    }));
    std::vector<Morsel> morsels;
    for (auto& some : found) std::move(some.begin(), some.end(), std::back_inserter(morsels));
    return morsels;
  }

  // Null if nothing is left of the morsel by what has become known since it was cut.
  Result<std::shared_ptr<arrow::RecordBatchReader>> Read(Morsel morsel, RowFilter* filter) const {
    if (const std::vector<ColumnTest> live = LiveTests(); !live.empty()) {
      const FileWork& file = *morsel.file;
      TL_ASSIGN_OR_RAISE(morsel.rows, MayPass(*file.reader, morsel.row_group, *file.file,
                                              std::move(morsel.rows), Place(live, file.columns())));
      if (morsel.rows.empty()) return nullptr;
    }
    return ReadMorsel(env_, std::move(morsel), request_, plan_.counters, filter);
  }

  const table::Env env_;
  const iceberg::TableMetadata metadata_;
  const Plan plan_;
  const ScanRequest request_;
  std::shared_ptr<arrow::Schema> schema_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Morsel> ready_;
  ReadAhead ahead_;
  size_t next_file_ = 0;
  int looking_ = 0;  // threads in Look
  Status failure_;
};

}  // namespace

Result<std::shared_ptr<Scanner>> Scanner::Make(const table::Env& env,
                                               const iceberg::TableMetadata& metadata, Plan plan,
                                               ScanRequest request) {
  if (request.batch_rows <= 0) return InvalidArgument("batches of {} rows", request.batch_rows);
  std::vector<iceberg::Field> fields;
  for (int id : request.field_ids) {
    const iceberg::Field* field = iceberg::FindFieldById(request.schema, id);
    if (!field) return InvalidArgument("the schema has no column with field id {}", id);
    fields.push_back(*field);
  }
  for (const ColumnFilter& filter : request.filters) {
    if (!iceberg::FindFieldById(request.schema, filter.field_id)) {
      return InvalidArgument("the schema has no column with field id {}", filter.field_id);
    }
  }
  if (request.row_ids && static_cast<int64_t>(plan.files.size()) > RowId::kMostFiles) {
    return Unsupported("{} data files at once: {} are possible", plan.files.size(),
                       RowId::kMostFiles);
  }
  if (!plan.counters) plan.counters = std::make_shared<Counters>();
  if (request.order) Sort(request.schema, *request.order, &plan.files);
  return std::make_shared<ScannerImpl>(env, metadata, std::move(plan), std::move(request),
                                       std::move(fields));
}

}  // namespace timelake::scan
