package io.phantoms.spark.detect

import io.phantoms.spark.functions.{
  ComposedSlice,
  ExpressionCost,
  ObjectAggregate,
  SignatureBit,
  SignatureWord,
  SignatureWords,
  SliceStart,
  WindowShape
}

import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  BoundReference,
  Expression,
  IsNotNull,
  Literal,
  Or
}
import org.apache.spark.sql.types.LongType

/**
 * Many windows and many predicates over one input, by one key each: the common slice of all windows, and the signature of
 * all predicates (On-the-fly sharing, sections 3.3, 4 and 5). A relation with both has the paper's shards, and every query
 * takes from it what is in its windows and has its bit; how many there are is nothing that the chooser has to weigh.
 *
 * Few of them have keys of their own instead, and the chooser says which of them share what.
 */
private[detect] object Shards {

  /** Windows, or predicates, of which each has a key of its own; what can help more takes the chooser long to weigh. */
  val MostKeys = 16

  /** Predicates of one grouping from which on they are bits of a signature. */
  private val FewestBits = 3

  /**
   * How windows and predicates are told apart where there is a choice: few enough for keys of their own.
   *
   * @param oneSlice whether windows have one slice in common
   * @param signature whether predicates are bits of a signature
   */
  final case class Form(oneSlice: Boolean, signature: Boolean)

  object Form {

    /** What is taken unless something else is expected to be faster. */
    val usual: Form = Form(oneSlice = false, signature = true)

    /** Windows have a slice in common. */
    val oneSlice: Form = usual.copy(oneSlice = true)

    /** The usual one, and those that such groupBys may be faster in. */
    def of(queries: Seq[WorkloadQuery], predicates: Int): Seq[Form] = {
      val windows = queries.flatMap(shape).distinct.size
      usual +: (Option.when(windows > 1 && windows <= MostKeys)(oneSlice) ++
        Option.when(predicates >= FewestBits && predicates <= MostKeys)(usual.copy(signature = false))).toSeq
    }
  }

  /**
   * A groupBy over an input, and the condition that its rows meet.
   *
   * @param read the condition of rows that it reads: these, and others of groups that are no result
   */
  final case class Filtered(query: WorkloadQuery, condition: Option[Expression], read: Option[Expression]) {
    def predicate: Expression = condition.getOrElse(Literal.TrueLiteral)

    /** Whether a function keeps an object, which is not put together from those of several fragments. */
    def keepsObjects: Boolean = query.functions.exists(f => ObjectAggregate.is(f.function))
  }

  object Filtered {

    /** With what its filter says about whole groups asked of these. */
    def apply(query: WorkloadQuery, filter: Option[Expression]): Filtered = filter match {
      case None => Filtered(query, None, None)
      case Some(c) =>
        val (under, condition) = Predicates.onGroups(query, c)
        Filtered(under, condition, filter)
    }
  }

  private def shape(query: WorkloadQuery): Option[WindowShape] = query.window.map(_.shape)

  private def sliceOf(query: WorkloadQuery): Option[SliceStart] =
    query.window.flatMap(w => query.keys.find(_.attribute.exprId == w.key.exprId)).map(_.expression).collect {
      case s: SliceStart => s
    }

  /** With the common slice as their key where windows are too many for keys of their own, or nothing else groups. */
  def composed(queries: Seq[WorkloadQuery], form: Form): Seq[WorkloadQuery] = {
    val slices = queries.flatMap(q => sliceOf(q).map(q -> _))
    val ofTime = slices.groupBy(_._2.time.canonicalized).values.flatMap { same =>
      def shapes(of: Seq[(WorkloadQuery, SliceStart)]) = of.flatMap(s => shape(s._1)).distinct
      val alone = same.filter(_._1.keys.size == 1)
      val all = shapes(same).size
      val together =
        if (all > MostKeys || (form.oneSlice && all > 1)) same else if (shapes(alone).size > 1) alone else Nil
      val distinct =
        together.distinctBy(s => shape(s._1)).sortBy(s => shape(s._1).map(w => (w.slide, w.range, w.start)))
      val windows = distinct.flatMap(s => shape(s._1))
      // Two that are cut alike may be computed in different ways, of which one fails.
      val closed = together.map(_._2).distinctBy(_.canonicalized).map { s =>
        s.transformUp { case e if e.semanticEquals(s.time) => BoundReference(0, LongType, nullable = false) }
      }
      together.map { case (q, s) => q -> ComposedSlice(s.time, windows, closed) }
    }.toSeq
    queries.map { q =>
      ofTime.collectFirst { case (of, slice) if of eq q => slice }.fold(q) { slice =>
        q.copy(keys =
          q.keys.map(k => if (k.attribute.exprId == q.window.get.key.exprId) k.copy(expression = slice) else k)
        )
      }
    }
  }

  /** Whether these are better told apart by signatures, or can be no other way: a predicate that may fail is asked once a row. */
  private def isFragmented(of: Seq[Filtered], form: Form): Boolean = {
    val predicates = of.map(_.predicate).distinctBy(_.canonicalized)
    val isMany = predicates.size >= (if (form.signature) FewestBits else MostKeys + 1)
    (isMany && !of.exists(_.keepsObjects)) || predicates.exists(ExpressionCost.canFail)
  }

  /** GroupBys with the same keys; those that keep objects apart, and of these again those that no key can tell apart. */
  private def classes(all: Seq[Filtered]): Seq[Seq[Filtered]] = {
    val kinds = all.map { f =>
      (
        f.query.keys.map(_.expression.canonicalized).toSet,
        f.keepsObjects,
        f.keepsObjects && ExpressionCost.canFail(f.predicate)
      )
    }
    kinds.distinct.map(k => all.indices.filter(kinds(_) == k).map(all))
  }

  /** Those whose predicates are keys of their own. */
  def keyed(all: Seq[Filtered], form: Form): Seq[Filtered] = classes(all).filterNot(isFragmented(_, form)).flatten

  /**
   * GroupBys of the rows that satisfy their conditions, in the order of `all`, as ones of rows of which some do not; and
   * the condition of rows that any of them takes, if it is not all.
   */
  def under(all: Seq[Filtered], form: Form): (Seq[WorkloadQuery], Option[Expression]) = {
    val parts = classes(all)
    val made = parts.map { part =>
      val (queries, rows) =
        if (isFragmented(part, form)) fragmented(part, parts.size == 1)
        else (part.map(f => f.condition.fold(f.query)(Predicates.under(f.query, _))), Predicates.hull(conditions(part)))
      (part.zip(queries), if (part.exists(_.read.isEmpty)) None else rows)
    }
    val pairs = made.flatMap(_._1)
    // Few conditions are asked as they are: the source may know what to do with them. Of many it learns what they have in
    // common, and who wants which row is known by the signature first.
    val few =
      if (conditions(all).flatten.map(_.canonicalized).distinct.size > MostKeys) None
      else Predicates.hull(conditions(all))
    val rows = few.orElse {
      val any = if (made.exists(_._2.isEmpty)) None else made.flatMap(_._2).reduceOption(Or(_, _))
      WorkloadBuilder.both(Predicates.columnHull(conditions(all)), any)
    }
    (all.map(f => pairs.collectFirst { case (of, q) if of eq f => q }.get), rows)
  }

  private def conditions(of: Seq[Filtered]): Seq[Option[Expression]] = of.map(_.read)

  /** Predicates as the bits of a signature, which is one key for each 64 of them. */
  final class Bits(predicates: Seq[Expression]) {
    val signature: SignatureWords = SignatureWords(predicates)
    val words: IndexedSeq[KeySlot] = (0 to (predicates.size - 1) / 64).map(w =>
      KeySlot(AttributeReference("signature", LongType, nullable = false)(), SignatureWord(signature, w))
    )
    private val ordinals = predicates.map(_.canonicalized).zipWithIndex.toMap

    /** The bit of a predicate, counted through all words. */
    def of(predicate: Expression): Int = ordinals(predicate.canonicalized)
    def slot(bit: Int): FragmentSlot = FragmentSlot(words(bit / 64).attribute, bit % 64)
  }

  /** @param alone whether the rows that these take are all that there are */
  private def fragmented(part: Seq[Filtered], alone: Boolean): (Seq[WorkloadQuery], Option[Expression]) = {
    val predicates = part.map(_.predicate).distinctBy(_.canonicalized)
    val bits = new Bits(predicates)
    val signature = bits.signature
    val withBits = part.map(f => f -> bits.of(f.predicate))
    def functionsOf(f: Filtered): Set[Expression] =
      f.query.functions.filter(_.filter.isEmpty).map(_.function.canonicalized).toSet
    // What each predicate's rows are asked for is asked of no row that no predicate lets through.
    val everywhere =
      withBits.groupMapReduce(_._2)(f => functionsOf(f._1))(_ ++ _).values.reduce(_ & _)
    def guarded(e: Expression): Expression = if (alone) e else Predicates.behind(IsNotNull(signature), e)
    def seen(s: FunctionSlot, bit: Int): FunctionSlot =
      if (!s.canFail) s
      else if (s.filter.nonEmpty || !everywhere(s.function.canonicalized)) s.guardedBy(SignatureBit(signature, bit))
      else if (alone) s
      else s.guardedBy(IsNotNull(signature))
    val queries = withBits.map { case (f, bit) =>
      f.query.copy(
        keys = f.query.keys.map(k => k.copy(expression = guarded(k.expression))) ++ bits.words,
        functions = f.query.functions.map(seen(_, bit)),
        fragment = Some(bits.slot(bit))
      )
    }
    (queries, Some(IsNotNull(signature)))
  }
}
