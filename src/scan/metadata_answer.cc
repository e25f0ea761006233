#include "scan/metadata_answer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "scan/facts.h"
#include "scan/file_work.h"
#include "base/parallel.h"
#include "scan/prune.h"
#include "table/data_file_reader.h"

namespace timelake::scan {
namespace {

using iceberg::Field;
using iceberg::TypeId;
using iceberg::Value;

// Footers opened at once, at most.
constexpr size_t kFootersAtOnce = 16;

bool IsFloat(const iceberg::Type& type) {
  return type.id == TypeId::kFloat || type.id == TypeId::kDouble;
}

// A file in question.
struct Candidate {
  const ScanFile* file = nullptr;
  bool taken = true;                              // until something about it cannot be told
  std::shared_ptr<table::DataFileReader> reader;  // once a footer was needed
};

class Answerer {
 public:
  Answerer(const table::Env& env, const iceberg::TableMetadata& metadata,
           const MetadataQuestion& question)
      : env_(env),
        metadata_(metadata),
        schema_(*iceberg::CurrentSchema(metadata)),
        question_(question) {}

  MetadataAnswer Run(const Plan& plan) {
    for (const ScanFile& file : plan.files) {
      if (IsCandidate(file)) candidates_.push_back({.file = &file, .taken = true, .reader = {}});
    }
    MetadataAnswer answer;
    for (const auto& extreme : question_.extremes) answer.extremes.push_back(Find(extreme));
    answer.counted.resize(question_.counted.size());
    for (const Candidate& candidate : candidates_) {
      if (!candidate.taken) continue;
      const iceberg::DataFile& file = *candidate.file->data;
      answer.files.insert(file.file_path);
      answer.rows += file.record_count - Replaced(*candidate.file);
      for (size_t i = 0; i < question_.counted.size(); ++i) {
        answer.counted[i] +=
            file.record_count - file.null_value_counts.find(question_.counted[i])->second;
      }
    }
    return answer;
  }

 private:
  static int64_t Replaced(const ScanFile& file) {
    return file.superseded ? static_cast<int64_t>(file.superseded->size()) : 0;
  }

  bool IsSameWhenReplaced(int field_id) const {
    return question_.same_when_replaced.contains(field_id);
  }

  bool IsCandidate(const ScanFile& file) const {
    if (!file.position_deletes.empty() || !file.equality_deletes.empty()) return false;
    if (!AllRowsOfFilePass(*file.data, schema_, question_.tests)) return false;
    for (const int id : question_.counted) {
      const auto nulls = file.data->null_value_counts.find(id);
      if (nulls == file.data->null_value_counts.end() || nulls->second < 0 ||
          nulls->second > file.data->record_count) {
        return false;
      }
    }
    return !question_.dedup || HoldsDespiteReplacedRows(file);
  }

  // A replaced row has the time and key of the one that replaces it, and one of those is seen: so
  // it changes no extreme of these columns, provided that both rows pass the tests or neither does.
  bool HoldsDespiteReplacedRows(const ScanFile& file) const {
    const bool none_known = question_.marked && Replaced(file) == 0;
    if (none_known) return true;
    if (question_.count && !question_.marked) return false;
    if (!question_.counted.empty()) return false;
    if (question_.extremes.empty()) return true;
    return std::all_of(question_.tests.begin(), question_.tests.end(),
                       [&](const ColumnTest& test) { return IsSameWhenReplaced(test.field_id); }) &&
           std::all_of(question_.extremes.begin(), question_.extremes.end(),
                       [&](const auto& extreme) { return IsSameWhenReplaced(extreme.field_id); });
  }

  // Whether no value of the file is beyond `best`.
  static bool CannotBeat(const ColumnFacts& facts, const Field& field, bool greatest,
                         const std::optional<Value>& best) {
    const bool may_be_nan = IsFloat(field.type) && facts.may_be_nan;
    if (!facts.may_be_value && !may_be_nan) return true;
    if (!best) return false;
    return NoRowPasses({field.id, greatest ? Op::kGt : Op::kLt, {*best}}, field.type, facts);
  }

  std::optional<Value> Find(const MetadataQuestion::Extreme& extreme) {
    const Field& field = *iceberg::FindFieldById(schema_, extreme.field_id);
    std::vector<std::pair<ColumnFacts, Candidate*>> order;
    for (Candidate& candidate : candidates_) {
      if (candidate.taken) order.emplace_back(FactsOf(*candidate.file->data, field), &candidate);
    }
    // Those that may have the extreme first; without a bound they have to be looked into anyway.
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      const auto& x = extreme.greatest ? a.first.upper : a.first.lower;
      const auto& y = extreme.greatest ? b.first.upper : b.first.lower;
      if (!x || !y) return !x && y.has_value();
      const auto compared = CompareValues(*x, *y);
      return compared && (extreme.greatest ? *compared > 0 : *compared < 0);
    });
    std::optional<Value> best;
    size_t at_once = 1;
    for (size_t next = 0; next < order.size();) {
      std::vector<Candidate*> wave;
      for (; next < order.size() && wave.size() < at_once; ++next) {
        const auto& [facts, candidate] = order[next];
        if (CannotBeat(facts, field, extreme.greatest, best)) continue;
        if (IsFloat(field.type) && facts.may_be_nan) {
          candidate->taken = false;  // footers do not count NaN
        } else {
          wave.push_back(candidate);
        }
      }
      Look(wave, field, extreme.greatest, &best);
      at_once = std::min(2 * at_once, kFootersAtOnce);
    }
    return best;
  }

  void Look(const std::vector<Candidate*>& wave, const Field& field, bool greatest,
            std::optional<Value>* best) {
    // Failures are the scan's to meet: it says what it was doing.
    const auto open = [&](size_t i) {
      if (!wave[i]->reader) wave[i]->reader = Open(*wave[i]->file);
      return Status::OK();
    };
    const bool in_memory = env_.store->scheme() == "memory";
    const bool waits = std::any_of(wave.begin(), wave.end(), [&](const Candidate* candidate) {
      return !candidate->reader && table::MustFetchTail(env_, candidate->file->data->file_path);
    });
    (void)RunConcurrently(wave.size(), in_memory ? 1 : kFootersAtOnce, waits, open);
    for (Candidate* candidate : wave) {
      std::optional<Value> found;
      candidate->taken = candidate->reader && OfFooter(*candidate->reader, field, greatest, &found);
      if (!candidate->taken || !found) continue;
      const auto order = *best ? CompareValues(*found, **best) : std::nullopt;
      if (!*best || (order && (greatest ? *order > 0 : *order < 0))) *best = std::move(found);
    }
  }

  std::shared_ptr<table::DataFileReader> Open(const ScanFile& file) const {
    if (ToLowerAscii(file.data->file_format) != "parquet") return nullptr;
    table::DataFileRequest request;
    request.uri = file.data->file_path;
    if (file.data->file_size_in_bytes > 0) request.size = file.data->file_size_in_bytes;
    request.constants = PartitionConstants(metadata_, file);
    for (const auto& extreme : question_.extremes) {
      const Field& field = *iceberg::FindFieldById(schema_, extreme.field_id);
      const bool known = std::any_of(request.fields.begin(), request.fields.end(),
                                     [&](const Field& other) { return other.id == field.id; });
      if (!known) request.fields.push_back(field);
    }
    auto reader = table::OpenDataFile(env_, request);
    return reader.ok() ? std::shared_ptr<table::DataFileReader>(*std::move(reader)) : nullptr;
  }

  // False if the footer does not tell.
  static bool OfFooter(const table::DataFileReader& reader, const Field& field, bool greatest,
                       std::optional<Value>* found) {
    for (int i = 0; i < reader.num_row_groups(); ++i) {
      const int64_t rows = reader.row_group_rows(i);
      if (rows == 0) continue;
      const auto stats = reader.row_group_stats(i, field.id);
      if (stats.null_count && *stats.null_count == rows) continue;
      const auto& bytes = greatest ? stats.exact_max : stats.exact_min;
      if (!bytes) return false;
      auto value = iceberg::FromBytes(field.type, *bytes);
      if (!value.ok()) return false;
      const auto order = *found ? CompareValues(*value, **found) : std::nullopt;
      if (!*found || (order && (greatest ? *order > 0 : *order < 0))) *found = *std::move(value);
    }
    return true;
  }

  const table::Env& env_;
  const iceberg::TableMetadata& metadata_;
  const iceberg::Schema& schema_;
  const MetadataQuestion& question_;
  std::vector<Candidate> candidates_;
};

}  // namespace

bool HasExactExtremes(const iceberg::Type& type) {
  switch (type.id) {
    case TypeId::kBoolean:
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kFloat:
    case TypeId::kDouble:
    case TypeId::kDecimal:
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kString: return true;
    default: return false;  // writers order UUIDs in more than one way
  }
}

MetadataAnswer AnswerFromMetadata(const table::Env& env, const iceberg::TableMetadata& metadata,
                                  const Plan& plan, const MetadataQuestion& question) {
  return Answerer(env, metadata, question).Run(plan);
}

}  // namespace timelake::scan
