package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Where sliding windows go wrong: edges, offsets, gaps, times without a zone and before 1970, NULL, what reads a window. */
trait WindowTraps extends Traps { this: AnyFunSuite =>

  // Edges: times at, one microsecond before and after what windows of 7 s by 3 s and 10 s by 5 s begin and end at.
  private val edges =
    """(select timestamp_micros(id div 3 * 1000000 + id % 3 - 1) e, int(id % 5) k, id v, if(id % 7 = 0, null, id) o
      |from range(-60, 90))""".stripMargin

  for (window <- Seq("'10 seconds', '5 seconds'", "'7 seconds', '3 seconds'", "'9 seconds', '2 seconds', '1 second'")) {
    shares(s"edges of windows of $window")(
      s"select window(e, $window) w, k, count(*), sum(v), min(o), max(o), avg(v) from $edges group by window(e, $window), k"
    )
    shares(s"windows of $window without a key")(
      s"select window(e, $window) w, count(*), count(o), sum(v) from $edges group by window(e, $window)"
    )
  }
  shares("one microsecond")(
    s"select window(e, '2 microseconds', '1 microsecond') w, count(*) from $edges group by window(e, '2 microseconds', '1 microsecond')"
  )
  shares("a range just above the slide")(
    s"select window(e, '5000001 microseconds', '5 seconds') w, k, sum(v) from $edges group by window(e, '5000001 microseconds', '5 seconds'), k"
  )
  shares("a negative offset")(
    s"select window(e, '10 seconds', '4 seconds', '-3 seconds') w, sum(v) from $edges group by window(e, '10 seconds', '4 seconds', '-3 seconds')"
  )
  shares("far apart: many windows without a row between")(
    """select window(e, '40 seconds', '10 seconds') w, k, count(*) n, sum(v) from
      |(select timestamp_micros(if(id % 2 = 0, id, id * 86400000000000)) e, id % 3 k, id v from range(40))
      |group by window(e, '40 seconds', '10 seconds'), k""".stripMargin
  )
  shares("many windows of one row")(
    s"select window(e, '100 seconds', '1 second') w, k, count(*), max(v) from $edges where v % 50 = 0 group by window(e, '100 seconds', '1 second'), k"
  )

  // Every type of time, NULL, before 1970; sums that may be NULL; decimals; strings; floats that are NaN.
  shares("times with a zone")(
    "select window(ts, '3 hours', '1 hour') w, a, count(*), count(c), sum(c), avg(d), max(b) from t group by window(ts, '3 hours', '1 hour'), a"
  )
  shares("times without a zone")(
    "select window(tn, '150 minutes', '1 hour', '20 minutes') w, b, sum(w), min(x), max(f), stddev(z) from t group by window(tn, '150 minutes', '1 hour', '20 minutes'), b"
  )
  shares("days across a change of the clock")(
    """select window(e, '1 day', '6 hours') w, count(*) from (select timestamp'2024-03-30 20:00:00 Europe/Berlin' +
      |make_interval(0, 0, 0, 0, id) e from range(60)) group by window(e, '1 day', '6 hours')""".stripMargin
  )
  shares("keys of many types")(
    "select window(ts, '2 hours', '1 hour') w, x, f, s, r, bin, flag, d, count(*), max(w) from t group by window(ts, '2 hours', '1 hour'), x, f, s, r, bin, flag, d"
  )
  shares("only rows without a time")(
    "select window(ts, '2 hours', '1 hour') w, count(*) from t where ts is null group by window(ts, '2 hours', '1 hour')"
  )
  shares("no row")(
    "select window(ts, '2 hours', '1 hour') w, a, sum(c) from none group by window(ts, '2 hours', '1 hour'), a"
  )

  // What is made of a window.
  shares("begin and end alone")(
    "select window.start, window.end, sum(c) from t group by window(ts, '2 hours', '1 hour')"
  )
  shares("grouped by the end alone")(
    "select window(ts, '90 minutes', '1 hour').end e, sum(c) from t group by window(ts, '90 minutes', '1 hour').end"
  )
  shares("window_time, and expressions of begin and end")(
    """select window_time(w), unix_micros(w.end) - unix_micros(w.start), hour(w.start) + a, n from
      |(select window w, a, count(*) n from t group by window(ts, '90 minutes', '1 hour'), a)""".stripMargin
  )
  shares("a condition on the window, and on what is aggregated")(
    """select window.start s, a, sum(c) v from t group by window(ts, '3 hours', '1 hour'), a
      |having window.start > timestamp'1969-03-31 01:00:00' and sum(c) > 10 and count(*) > 1""".stripMargin
  )
  shares("conditions above and below")(
    """select * from (select window w, a, sum(c) v from t where c > -20 and b is not null
      |group by window(ts, '3 hours', '1 hour'), a) where w.end < timestamp'2025-01-01 00:00:00' and v > 0 and a <> 3""".stripMargin
  )
  shares("FILTER clauses and expressions as keys and inputs")(
    """select window(ts + interval 10 minutes, '2 hours', '30 minutes') w, a % 2, upper(b), sum(c * 2) filter (where flag), count(*)
      |from t group by window(ts + interval 10 minutes, '2 hours', '30 minutes'), a % 2, upper(b)""".stripMargin
  )
  shares("a time that is made of another type")(
    "select window(cast(dt as timestamp), '3 days', '1 day') w, count(*) from t group by window(cast(dt as timestamp), '3 days', '1 day')"
  )
  shares("over a join")(
    """select window(t.ts, '2 hours', '1 hour') w, y.n, count(*), sum(t.c) from t join (select distinct a, n from t) y on t.a = y.a
      |group by window(t.ts, '2 hours', '1 hour'), y.n""".stripMargin
  )
  shares("below another aggregate, sorted")(
    """select a, max(n), count(*) from (select window w, a, count(*) n from t group by window(ts, '2 hours', '1 hour'), a)
      |group by a order by a""".stripMargin
  )

  // Several of them, and beside other groupBys.
  shares("two windows, one slide")(
    """select window.start s, a k, count(*) n from t group by window(ts, '2 hours', '1 hour'), a
      |union all select window.start, a, sum(c) from t group by window(ts, '5 hours', '1 hour'), a""".stripMargin
  )
  shares("windows of different slides and offsets")(
    """select window.start s, window.end e, count(*) n from t group by window(ts, '2 hours', '1 hour')
      |union all select window.start, window.end, sum(c) from t group by window(ts, '100 minutes', '45 minutes', '5 minutes')
      |union all select window.start, window.end, max(c) from t group by window(ts, '10 minutes', '3 minutes'), a""".stripMargin
  )
  shares("the same window twice")(
    """select window.start s, a, count(*) n from t group by window(ts, '2 hours', '1 hour'), a
      |union all select window.start, a, count(*) from t group by window(ts, '2 hours', '1 hour'), a""".stripMargin
  )
  shares("a window beside a groupBy of all rows that have a time")(
    """select window.start s, a, count(*) n from t where ts is not null group by window(ts, '2 hours', '1 hour'), a
      |union all select null, a, count(*) from t where ts is not null group by a""".stripMargin
  )

  shares("a window among grouping sets: those are shared, over copies of rows")(
    """select window(ts, '2 hours', '1 hour') w, a, count(*) from t
      |group by grouping sets ((window(ts, '2 hours', '1 hour'), a), (window(ts, '2 hours', '1 hour')))""".stripMargin
  )

  shares("more windows than one workload has")((1 to 18).map(i =>
    s"select window.start s, count(*) n from t group by window(ts, '${i + 60} minutes', '$i minutes')"
  ).mkString(" union all "))

  // Errors, and what is not shared.
  test("a time so early that its window's begin is no number") {
    for (early <- Seq("-9223372036854775800", "9223372036854775800"))
      withConf("spark.sql.ansi.enabled" -> "true") {
        checkSharedSql(
          s"""select count(*) from (select window w, count(*) n from (select timestamp_micros(if(id = 7, $early, id)) e
             |from range(20)) group by window(e, '2 hours', '1 hour'))""".stripMargin,
          fails = Some("ARITHMETIC_OVERFLOW")
        )
      }
  }
  declines("negative: grouped by an hour of windows", "SLIDING_WINDOW")(
    "select h, count(*) from (select hour(w.start) h from (select window(ts, '2 hours', '1 hour') w, a from t)) group by h"
  )
  declines("negative: rows compared with their window", "SLIDING_WINDOW")(
    "select w, count(*) from (select window(ts, '2 hours', '1 hour') w, ts, a from t) where hour(w.start) <> a group by w"
  )
  declines("negative: a window is aggregated", "SLIDING_WINDOW")(
    "select w.start, max(w.end) from (select window(ts, '2 hours', '1 hour') w, a from t) group by w.start, a"
  )
  test("negative: switched off") {
    withConf("spark.phantoms.windows.enabled" -> "false") {
      checkDeclinedSql(
        "select window(ts, '2 hours', '1 hour') w, count(*) from t group by window(ts, '2 hours', '1 hour')",
        "DISABLED"
      )
    }
  }
}
