#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "unit/write/random_rows.h"
#include "write/arrow_value.h"

// Random batches in any order, with ties and nulls, keys of any type and of several columns: the
// files are sorted, stable and complete, whether all rows fit into memory or wait on disk. `v` is
// the number of a row in the order of arrival.

namespace timelake::write {
namespace {

using iceberg::Value;

Value InputValue(const arrow::Array& array, int64_t row) {
  if (array.type_id() != arrow::Type::DICTIONARY) return ValueAt(array, row);
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
  if (encoded.IsNull(row)) return Value{};
  return ValueAt(*encoded.dictionary(), encoded.GetValueIndex(row));
}

// Zeros of both signs are one series.
int CompareKey(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return x && y && *x == *y ? 0 : iceberg::Compare(a, b);
}

bool SameBits(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return x && y ? std::memcmp(x, y, sizeof *x) == 0 : a == b;
}

// A row by the columns of the table.
using RowValues = std::vector<Value>;

struct Checker {
  const Target& target;

  size_t Place(int id) const { return static_cast<size_t>(id - 1); }
  int64_t Number(const RowValues& row) const {
    return std::get<int64_t>(row[Place(iceberg::FindField(target.schema, "v")->id)]);
  }

  int CompareSeries(const RowValues& a, const RowValues& b) const {
    for (const int id : target.contract.key_ids) {
      if (int order = CompareKey(a[Place(id)], b[Place(id)])) return order;
    }
    return 0;
  }
  int CompareOrder(const RowValues& a, const RowValues& b) const {
    if (int order = CompareSeries(a, b)) return order;
    const size_t time = Place(*target.contract.time_id);
    return iceberg::Compare(a[time], b[time]);
  }

  std::vector<Value> PartitionOf(const RowValues& row) const {
    std::vector<Value> values;
    for (const auto& field : target.spec.fields) {
      const auto& type = iceberg::FindFieldById(target.schema, field.source_id)->type;
      values.push_back(
          Unwrapped(iceberg::Apply(field.transform, type, row[Place(field.source_id)])));
    }
    return values;
  }

  std::vector<RowValues> RowsOf(const arrow::RecordBatch& batch) const {
    std::vector<RowValues> rows(static_cast<size_t>(batch.num_rows()));
    for (const auto& field : target.schema.fields) {
      const auto column = batch.GetColumnByName(field.name);
      for (size_t i = 0; i < rows.size(); ++i) {
        rows[i].push_back(InputValue(*column, static_cast<int64_t>(i)));
      }
    }
    return rows;
  }

  // Without those that a later row of the same series and time replaces.
  std::vector<RowValues> Kept(const std::vector<RowValues>& rows) const {
    if (!target.contract.dedup) return rows;
    const auto less = [&](const RowValues* a, const RowValues* b) {
      return CompareOrder(*a, *b) < 0;
    };
    std::set<const RowValues*, decltype(less)> seen(less);
    std::vector<RowValues> kept;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      if (seen.insert(&*row).second) kept.push_back(*row);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  // Sorted, and rows of one place as they came.
  void CheckOrder(const std::vector<RowValues>& rows) const {
    for (size_t i = 1; i < rows.size(); ++i) {
      const int order = CompareOrder(rows[i - 1], rows[i]);
      ASSERT_LE(order, 0) << "row " << i;
      if (order == 0) {
        ASSERT_LT(Number(rows[i - 1]), Number(rows[i])) << "row " << i;
      }
    }
  }

  void Check(const std::vector<RowValues>& input, const table::Env& env,
             const Written& written) const {
    std::map<int64_t, RowValues> found;
    std::map<std::string, std::vector<std::vector<RowValues>>> partitions;
    for (size_t i = 0; i < written.files.size(); ++i) {
      const auto& file = written.files[i];
      const auto batch = Unwrapped(ReadParquet(env, written.keys[i])->CombineChunksToBatch());
      const auto rows = RowsOf(*batch);
      ASSERT_EQ(file.record_count, static_cast<int64_t>(rows.size()));
      ASSERT_FALSE(rows.empty());
      EXPECT_EQ(file.sort_order_id, target.order.order_id);
      ASSERT_NO_FATAL_FAILURE(CheckOrder(rows));
      for (const RowValues& row : rows) {
        EXPECT_EQ(PartitionOf(row), file.partition);
        EXPECT_TRUE(found.emplace(Number(row), row).second) << "row " << Number(row) << " twice";
      }
      partitions[written.keys[i].substr(0, written.keys[i].rfind('/'))].push_back(rows);
    }
    // Files of one partition follow each other.
    for (auto& [folder, files] : partitions) {
      std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) {
        const int order = CompareOrder(a.front(), b.front());
        return order != 0 ? order < 0 : Number(a.front()) < Number(b.front());
      });
      std::vector<RowValues> all;
      for (const auto& file : files) all.insert(all.end(), file.begin(), file.end());
      ASSERT_NO_FATAL_FAILURE(CheckOrder(all)) << folder;
    }
    const auto kept = Kept(input);
    EXPECT_EQ(written.rows, static_cast<int64_t>(kept.size()));
    EXPECT_EQ(written.duplicates, static_cast<int64_t>(input.size() - kept.size()));
    ASSERT_EQ(found.size(), kept.size());
    for (const RowValues& row : kept) {
      const auto it = found.find(Number(row));
      ASSERT_NE(it, found.end()) << "row " << Number(row) << " is missing";
      EXPECT_TRUE(std::equal(row.begin(), row.end(), it->second.begin(), SameBits));
    }
  }
};

// Pieces of the rows in any order, numbered anew as they come.
std::vector<std::shared_ptr<arrow::RecordBatch>> InAnyOrder(
    const std::shared_ptr<arrow::RecordBatch>& rows, Generator* generator) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> pieces;
  for (int64_t begin = 0; begin < rows->num_rows();) {
    pieces.push_back(rows->Slice(begin, 1 + generator->Below(1 + rows->num_rows() / 5)));
    begin += pieces.back()->num_rows();
  }
  for (size_t i = pieces.size(); i > 1; --i) {
    std::swap(pieces[i - 1],
              pieces[static_cast<size_t>(generator->Below(static_cast<int64_t>(i)))]);
  }
  int64_t number = 0;
  for (auto& piece : pieces) {
    arrow::Int64Builder numbers;
    for (int64_t i = 0; i < piece->num_rows(); ++i) EXPECT_TRUE(numbers.Append(number++).ok());
    const int place = piece->schema()->GetFieldIndex("v");
    piece = Unwrapped(
        piece->SetColumn(place, piece->schema()->field(place), Unwrapped(numbers.Finish())));
  }
  return pieces;
}

// Returns what was spilled.
int64_t CheckCase(uint64_t seed, int64_t most_rows, int64_t budget) {
  SCOPED_TRACE(fmt::format("seed {}, rows {}, budget {}", seed, most_rows, budget));
  Case made = RandomCase(seed, most_rows);
  Generator generator(seed * 3 + 1);
  auto& settings = made.target.settings;
  settings.write_memory_bytes = budget;
  if (generator.Chance(20)) settings.target_file_size_bytes = 3000;
  if (generator.Chance(20)) settings.row_group_rows = 1 + generator.Below(50);
  const auto pieces = InAnyOrder(made.batches[0], &generator);
  if (pieces.empty()) return 0;
  const Checker checker{made.target};
  std::vector<RowValues> input;
  for (const auto& piece : pieces) {
    const auto rows = checker.RowsOf(*piece);
    input.insert(input.end(), rows.begin(), rows.end());
  }
  table::Env env = TestEnv();
  int64_t spilled = 0;
  env.observer = std::make_shared<Observer>();
  env.observer->metric = [&](const char* name, int64_t value) {
    if (std::string_view(name) == "append.spilled_bytes") spilled += value;
  };
  WriteOptions options;
  options.threads = static_cast<int>(1 + seed % 2);
  const Written written = Unwrapped(WriteBatches(env, made.target, pieces, options));
  EXPECT_EQ(Unwrapped(env.store->List("")).objects.size(), written.files.size());
  checker.Check(input, env, written);
  return spilled;
}

TEST(WriteProperty, FilesAreSortedStableAndComplete) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    EXPECT_EQ(CheckCase(seed, 300, int64_t{1} << 30), 0);
  }
}

TEST(WriteProperty, SoTheyAreWithATinyBudget) {
  int64_t spilled = 0;
  for (uint64_t seed = 1000; seed < 1150; ++seed) {
    spilled += CheckCase(seed, 400, int64_t{1} << (11 + seed % 5)) > 0;
  }
  EXPECT_GT(spilled, 70);
  // More runs than are merged at once.
  for (uint64_t seed = 2000; seed < 2004; ++seed) CheckCase(seed, 3000, 1 << 11);
}

}  // namespace
}  // namespace timelake::write
