package io.phantoms.spark.source;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What could not be decoded, by kind: problems that differ in numbers only are one kind, of which the first is shown. */
final class InfoOfProblems {
  private static final int MOST_KINDS = 100;
  private static final String OTHERS = "other problems";

  private final Map<String, Kind> kinds = new LinkedHashMap<>();

  private static final class Kind {
    private final String first;
    private final Long offset;
    private long count;

    Kind(String first, Long offset) {
      this.first = first;
      this.offset = offset;
    }
  }

  /** Adds one; offset is where in the file it was met, null if that is not known. */
  void add(String problem, Long offset) {
    String kind = problem.replaceAll("\\d+", "#");
    if (kinds.size() >= MOST_KINDS && !kinds.containsKey(kind)) {
      kinds.computeIfAbsent(OTHERS, k -> new Kind(OTHERS, offset)).count++;
    } else {
      kinds.computeIfAbsent(kind, k -> new Kind(problem, offset)).count++;
    }
  }

  /** The most frequent first. */
  List<Map<String, Object>> toList() {
    List<Kind> sorted = new ArrayList<>(kinds.values());
    sorted.sort((a, b) -> Long.compare(b.count, a.count));
    List<Map<String, Object>> all = new ArrayList<>();
    for (Kind kind : sorted) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("what", kind.first);
      one.put("count", kind.count);
      one.put("first_offset", kind.offset);
      all.add(one);
    }
    return all;
  }
}
