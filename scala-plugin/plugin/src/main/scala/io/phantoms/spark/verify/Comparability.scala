package io.phantoms.spark.verify

import io.phantoms.spark.verify.ColumnForm._

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{DoubleType, FloatType, NumericType}

/**
 * Which results of a plan are the same each time it runs, and how closely: what differs between two runs of plain Spark says
 * nothing of the plugin.
 *
 * Conditions on sums of floats count as the same: they differ only where a sum is within its last digits of the bound.
 */
object Comparability {

  /** How the columns of a plan are compared, or a sentence why its rows cannot be. */
  def of(plan: LogicalPlan): Either[String, IndexedSeq[ComparedColumn]] =
    if (!plan.deterministic) Left("it has expressions that are not deterministic")
    else
      new Comparability(Map.empty).forms(plan).map { forms =>
        plan.output.toIndexedSeq.map { a =>
          val form = forms.getOrElse(a.exprId, Exact)
          val comparable = form == LeftOut || ValueHash.of(a.dataType, form == Signless).isDefined
          ComparedColumn(a.name, a.dataType, if (comparable) form else LeftOut)
        }
      }

  private[verify] type Forms = Map[ExprId, ColumnForm]
}

/** @param outer columns of an outer query */
private final class Comparability(outer: Comparability.Forms) {
  import Comparability.Forms

  def forms(plan: LogicalPlan): Either[String, Forms] =
    plan.children.foldLeft[Either[String, Forms]](Right(outer)) { (all, child) =>
      all.flatMap(known => forms(child).map(known ++ _))
    }.flatMap(of(plan, _))

  private def of(plan: LogicalPlan, known: Forms): Either[String, Forms] = {
    val expressions = new ExpressionForms(known)
    def named(values: Seq[NamedExpression]): Forms = values.map(v => v.exprId -> expressions.of(v)).toMap
    plan match {
      case p: Project => Right(known ++ named(p.projectList))
      case f: Filter => condition(f.condition, expressions).toLeft(known)
      case a: Aggregate =>
        if (a.groupingExpressions.exists(expressions.isLoose)) Left("it groups by sums of floats")
        else Right(known ++ named(a.aggregateExpressions))
      case e: Expand =>
        Right(known ++ e.output.zipWithIndex.map { case (a, i) =>
          a.exprId -> ColumnForm.loosest(e.projections.map(p => expressions.of(p(i))))
        })
      case u: Union =>
        Right(known ++ u.output.zipWithIndex.map { case (a, i) =>
          a.exprId -> ColumnForm.loosest(u.children.map(c => known.getOrElse(c.output(i).exprId, Exact)))
        })
      case j: Join => j.condition.flatMap(condition(_, expressions)).toLeft(known)
      case w: Window => Right(known ++ named(w.windowExpressions))
      case w: WindowGroupLimit =>
        val isRank = w.rankLikeFunction.isInstanceOf[Rank] || w.rankLikeFunction.isInstanceOf[DenseRank]
        if (isRank && !(w.partitionSpec ++ w.orderSpec).exists(expressions.isLoose)) Right(known) else unknown(plan)
      case g: Generate => Right(known ++ g.generatorOutput.map(_.exprId -> expressions.of(g.generator)))
      case _: Sort | _: RepartitionOperation | _: RebalancePartitions | _: SubqueryAlias | _: ResolvedHint |
          _: Subquery | _: View => Right(known)
      case _: CTERelationRef => unknown(plan)
      case l: LeafNode => Right(known ++ l.output.map(_.exprId -> Exact))
      // Functions of rows are taken to be deterministic, as Spark takes them.
      case _: DeserializeToObject | _: MapElements | _: TypedFilter | _: SerializeFromObject
          if !plan.references.exists(expressions.isLoose) =>
        Right(known ++ plan.output.map(_.exprId -> Exact))
      case other => unknown(other)
    }
  }

  private def unknown(plan: LogicalPlan): Either[String, Forms] =
    Left(s"${plan.nodeName} may let other rows through when it runs again")

  /** Why a condition may be true of other rows when it is asked again. */
  private def condition(e: Expression, forms: ExpressionForms): Option[String] =
    if (e.exists(p => forms.of(p) == LeftOut && !rounds(p, forms)) || e.exists(comparesSums(_, forms)))
      Some("a condition depends on the order of rows")
    else None

  private def rounds(e: Expression, forms: ExpressionForms): Boolean =
    e.isInstanceOf[Predicate] && e.children.forall(c => forms.of(c) != LeftOut || rounds(c, forms))

  private def comparesSums(e: Expression, forms: ExpressionForms): Boolean = e match {
    case _: EqualTo | _: EqualNullSafe | _: In | _: InSet | _: InSubquery => e.children.exists(forms.of(_) == Rounded)
    case _ => false
  }
}

/** How closely values are compared, by what they are made of. */
private final class ExpressionForms(known: Comparability.Forms) {

  /** Whether a value may be another one in another run. */
  def isLoose(e: Expression): Boolean = of(e).looseness >= Rounded.looseness

  def of(e: Expression): ColumnForm = e match {
    case a: Attribute => known.getOrElse(a.exprId, Exact)
    case a: aggregate.AggregateExpression => AggregateForms.of(a, of(_))
    case w: WindowExpression => ofWindow(w)
    case s: SubqueryExpression => new Comparability(known).forms(s.plan) match {
        case Right(forms) =>
          ColumnForm.loosest(s.children.map(of(_)) ++ s.plan.output.map(a => forms.getOrElse(a.exprId, Exact)))
        case _ => LeftOut
      }
    case _ => made(e, ColumnForm.loosest(e.children.map(of(_))))
  }

  private def made(e: Expression, from: ColumnForm): ColumnForm = from match {
    case Rounded => e match {
        case _: IsNull | _: IsNotNull => Exact
        case _ if e.dataType == DoubleType || e.dataType == FloatType => Rounded
        case _ => LeftOut
      }
    case Signless if !AggregateForms.holdsFloats(e.dataType) =>
      // A text shows the sign; comparisons and whole numbers do not.
      if (e.isInstanceOf[Predicate] || e.dataType.isInstanceOf[NumericType]) Exact else LeftOut
    case other => other
  }

  private def ofWindow(w: WindowExpression): ColumnForm = {
    val spec = w.windowSpec
    if ((spec.partitionSpec ++ spec.orderSpec.map(_.child)).exists(isLoose)) LeftOut
    else w.windowFunction match {
      case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => Exact
      case a: aggregate.AggregateExpression if hasPeers(spec.frameSpecification) => of(a)
      // By their order among ties.
      case _ => LeftOut
    }
  }

  /** Whether rows that are equal by the order are in the frame all, or none of them. */
  private def hasPeers(frame: WindowFrame): Boolean = frame match {
    case SpecifiedWindowFrame(RangeFrame, _, _) => true
    case SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing) => true
    case _ => false
  }
}
