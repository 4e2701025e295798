package io.phantoms.spark.detect

/**
 * A kind of reasons for leaving a plan alone, and what users can do about it; `docs/why-not.md` has all of them.
 *
 * @param name UPPER_SNAKE, part of the public contract
 * @param means what was met
 * @param advice what would make it shareable, or that nothing would
 */
final case class DeclineCode(name: String, means: String, advice: String)

object DeclineCode {
  val Disabled: DeclineCode =
    DeclineCode("DISABLED", "a conf of `spark.phantoms.*.enabled` is false", "set the conf to true")
  val WrongSpark: DeclineCode =
    DeclineCode("WRONG_SPARK", "the jar was built for another Spark minor", "use the jar that is built for this Spark")
  val SingleAggregate: DeclineCode = DeclineCode(
    "SINGLE_AGGREGATE",
    "one groupBy only, and fewer than eight different conditions in its aggregates, and DISTINCT of no more than one " +
      "column and nothing beside it (in a subquery, whatever is beside it: Spark makes one of several): nothing to share",
    "put other groupBys of this input into the same query: as grouping sets, branches of a UNION ALL, or sides of a join"
  )
  val NoBenefit: DeclineCode = DeclineCode(
    "NO_BENEFIT",
    "sharing is not expected to pay",
    "give statistics (phantoms.stats) if the estimate is wrong, or lower spark.phantoms.minSavings"
  )
  val DifferentInputs: DeclineCode = DeclineCode(
    "DIFFERENT_INPUTS",
    "the aggregates read different inputs, or one under filters of which one may fail, or above a groupBy whose results may " +
      "fail behind a filter, or are copies of one aggregate, which Spark computes once",
    "let them read one input (the same tables, joins and expressions), and keep what may fail out of their filters"
  )
  val InputReadTwice: DeclineCode = DeclineCode(
    "INPUT_READ_TWICE",
    "groupBys in several places of the query would read results of one shuffle, and Spark is not sure to run it once: " +
      "`spark.sql.exchange.reuse` is false, or the input is a join or groupBy of a cached table under adaptive execution, " +
      "or of a connector that is not Spark's own",
    "set spark.sql.exchange.reuse to true, read files instead of a cache or connector, or UNION ALL the groupBys"
  )
  val UnsupportedShape: DeclineCode = DeclineCode(
    "UNSUPPORTED_SHAPE",
    "max_by, min_by of a value that may fail, which Spark evaluates for some rows only; approx_count_distinct with a " +
      "relative standard deviation below about 0.01, of which each group takes many kilobytes; a count_min_sketch of more than " +
      "64 KiB; percentiles, sets, sketches and users' Aggregators over sliding windows or under a filter that may fail; or what " +
      "Spark's planner does not take apart",
    "take out of the groupBy what the message names: compute it in the input or from the results"
  )
  val TooManyQueries: DeclineCode =
    DeclineCode("TOO_MANY_QUERIES", "more groupBys than `spark.phantoms.maxQueries`", "raise spark.phantoms.maxQueries")
  val UnsupportedFunction: DeclineCode = DeclineCode(
    "UNSUPPORTED_FUNCTION",
    "an aggregate function that is not shared yet",
    "compute the function in a groupBy of its own, so that it does not keep the others from being shared"
  )
  val UnsupportedInputType: DeclineCode = DeclineCode(
    "UNSUPPORTED_INPUT_TYPE",
    "an aggregate function over a type that is not shared yet",
    "cast its input to a plain type, or compute the function in a groupBy of its own"
  )
  val UnsupportedKeyType: DeclineCode = DeclineCode(
    "UNSUPPORTED_KEY_TYPE",
    "a key whose equality is not that of its bytes (collations, maps)",
    "group by a form of the key that is equal byte by byte: lower(key) COLLATE UTF8_BINARY, array_sort(map_entries(key))"
  )
  val DistinctAggregate: DeclineCode = DeclineCode(
    "DISTINCT_AGGREGATE",
    "beside DISTINCT, a FILTER clause that may fail, or that keeps what may fail from rows: plain Spark computes that " +
      "for every row",
    "compute the condition or the value in the input"
  )
  val OrderDependent: DeclineCode = DeclineCode(
    "ORDER_DEPENDENT",
    "first, last, collect_list and the like depend on the order of rows, and so does collect_set, unless only its size, " +
      "`array_min`, `array_max`, `array_contains` or `sort_array` of it are asked for; so do corr, skewness, kurtosis, " +
      "regr_slope, regr_intercept and regr_r2, which divide by a variance that is zero or a rounding error where all values are equal",
    "take a function whose result no order changes (min, max, min_by, max_by), or compute it in a groupBy of its own"
  )
  val Nondeterministic: DeclineCode = DeclineCode(
    "NONDETERMINISTIC",
    "evaluating an expression once would change rows",
    "store or cache the input with the value as a column, and aggregate that"
  )
  val ExactFloatingPoint: DeclineCode = DeclineCode(
    "EXACT_FLOATING_POINT",
    "`spark.phantoms.exactFloatingPoint` is true and floats would be summed (deviations and covariances are such sums)",
    "set spark.phantoms.exactFloatingPoint to false if the last digits do not matter, or sum decimals"
  )
  val PythonUdf: DeclineCode = DeclineCode(
    "PYTHON_UDF",
    "a Python UDF is an input of the aggregates (over their results it is none)",
    "write it as a SQL expression, apply it to the results, or store its value as a column"
  )
  val Subquery: DeclineCode = DeclineCode(
    "SUBQUERY",
    "a subquery is part of a key, a filter or an input",
    "join the subquery's result to the input, or put its value into the query as a literal"
  )
  val Observed: DeclineCode = DeclineCode(
    "OBSERVED",
    "`observe()` below the aggregates has to count each row once per aggregate",
    "call observe() on the result of the groupBys instead"
  )
  val ProjectionSensitiveSource: DeclineCode = DeclineCode(
    "PROJECTION_SENSITIVE_SOURCE",
    "it depends on the columns read which rows survive: text formats and Avro, and any files with " +
      "`ignoreCorruptFiles` or `ignoreMissingFiles`; the aggregates read different columns",
    "store the input as Parquet or ORC and do not skip damaged files, or let each groupBy read the same columns"
  )
  val SourcePushDown: DeclineCode = DeclineCode(
    "SOURCE_PUSH_DOWN",
    "the source computes the aggregates itself",
    "nothing, if the source is fast at it; otherwise switch its aggregate push-down off"
  )
  val SlidingWindow: DeclineCode = DeclineCode(
    "SLIDING_WINDOW",
    "a sliding window that nothing is grouped by, that is part of another key, or that rows or aggregates are compared with",
    "group by the window, its start or its end, and compute the rest from the results"
  )
  val SessionWindow: DeclineCode = DeclineCode(
    "SESSION_WINDOW",
    "a session window, which is not shared yet",
    "nothing; tumbling and sliding windows are shared"
  )
  val Streaming: DeclineCode =
    DeclineCode(
      "STREAMING",
      "a query over a stream, which is not shared yet",
      "nothing; aggregate what the stream has stored in a query of its own"
    )
  val InternalError: DeclineCode = DeclineCode(
    "INTERNAL_ERROR",
    "a bug; the plan was left as it was",
    "please report it, with the query and the warning in the driver's log"
  )

  /** The commonest first. */
  val all: Seq[DeclineCode] = Seq(
    Disabled,
    WrongSpark,
    SingleAggregate,
    NoBenefit,
    DifferentInputs,
    InputReadTwice,
    UnsupportedShape,
    TooManyQueries,
    UnsupportedFunction,
    UnsupportedInputType,
    UnsupportedKeyType,
    DistinctAggregate,
    OrderDependent,
    Nondeterministic,
    ExactFloatingPoint,
    PythonUdf,
    Subquery,
    Observed,
    ProjectionSensitiveSource,
    SourcePushDown,
    SlidingWindow,
    SessionWindow,
    Streaming,
    InternalError
  )
}
