package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

/**
 * One of Spark's functions that is a program, not expressions, and keeps its state in a fixed number of words, all zero at
 * first. It is run as it is, on the words of a record: the expressions below only hand these to it. They change a record in
 * place and answer what they were given, which is not stored again.
 */
final case class WordsAggregate(plain: ImperativeAggregate) extends DeclarativeAggregate {

  /** What runs: over a row of its inputs, with nothing before its words in its buffers. */
  private lazy val program: ImperativeAggregate = plain.withNewChildren(plain.children.zipWithIndex.map {
    case (c, i) => BoundReference(i, c.dataType, nullable = true)
  }).asInstanceOf[ImperativeAggregate].withNewMutableAggBufferOffset(0).withNewInputAggBufferOffset(0)

  private lazy val words: AttributeReference =
    AttributeReference(
      "words",
      FieldType.WordsType,
      nullable = false,
      FieldType.wordsMark(plain.aggBufferAttributes.size)
    )()

  override def children: Seq[Expression] = plain.children
  override def dataType: DataType = plain.dataType
  override def nullable: Boolean = plain.nullable
  override def prettyName: String = plain.prettyName

  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(words)
  override lazy val initialValues: Seq[Expression] = Seq(Literal(null, FieldType.WordsType))
  override lazy val updateExpressions: Seq[Expression] = Seq(WordsUpdate(program, words, children))
  override lazy val mergeExpressions: Seq[Expression] = Seq(WordsMerge(program, words.left, words.right))
  override lazy val evaluateExpression: Expression = WordsResult(program, words)

  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): WordsAggregate =
    copy(plain.withNewChildren(children).asInstanceOf[ImperativeAggregate])
}

object WordsAggregate {

  /** Most words a group, of all its functions: those of a distinct count with a deviation of one percent, and some more. */
  val MostWords = 2048

  /** What is wrong with these functions, as a sentence, if a group of all of them takes too much. */
  def tooWide(functions: Seq[AggregateFunction]): Option[String] = {
    val found = sum(functions)
    Option.when(found > MostWords)(
      s"${functions.filter(is).map(_.prettyName).distinct.mkString(", ")}: $found words for each group, more than the " +
        s"$MostWords that are shared; a larger relative standard deviation takes fewer"
    )
  }

  /** Whether the function's state is words, all zero at first, of which those of two groups merge exactly in any order. */
  def is(function: AggregateFunction): Boolean = function match {
    case _: HyperLogLogPlusPlus | _: WordsAggregate => true
    case _ => false
  }

  /** Words of one group of such a function. */
  def words(function: AggregateFunction): Int = function match {
    case w: WordsAggregate => words(w.plain)
    case other => other.aggBufferAttributes.size
  }

  /** Words of one group of all such functions among these. */
  def sum(functions: Seq[AggregateFunction]): Int = functions.filter(is).map(words).sum
}
