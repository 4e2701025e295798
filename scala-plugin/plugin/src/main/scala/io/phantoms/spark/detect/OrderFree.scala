package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions._

/** What is made of a set that comes as an array, its elements in any order. */
private[detect] object OrderFree {

  /** Whether these results are the same whatever the order of its elements. */
  def apply(set: Attribute, results: Seq[Expression]): Boolean = results.forall(isFree(set, _))

  private def isFree(set: Attribute, e: Expression): Boolean = e match {
    case a: Attribute => a.exprId != set.exprId
    // Elements of a set are different, so that sorted there is one order of them.
    case s: Size if isSet(set, s.child) => true
    case s: SortArray if isSet(set, s.base) => isFree(set, s.ascendingOrder)
    case c: ArrayContains if isSet(set, c.left) => isFree(set, c.right)
    case m: ArrayMin if isSet(set, m.child) => true
    case m: ArrayMax if isSet(set, m.child) => true
    case IsNull(child) if isSet(set, child) => true
    case IsNotNull(child) if isSet(set, child) => true
    case other => other.children.forall(isFree(set, _))
  }

  private def isSet(set: Attribute, e: Expression): Boolean = e match {
    case a: Attribute => a.exprId == set.exprId
    case _ => false
  }
}
