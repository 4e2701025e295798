package io.phantoms.spark.run.generated

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Expression

/**
 * Methods for what would make another one too large for the JVM to compile: its just-in-time compilers leave alone whatever
 * is longer than 8000 bytes of bytecode.
 */
private[generated] final class SplitCode {
  private val made = mutable.ArrayBuffer.empty[String]

  /**
   * Java text that does all parts in their order: the only part itself, or else calls of a method each.
   *
   * @param parameters of these methods: all that the parts know of their surroundings
   */
  def calls(name: String, parameters: String, arguments: String, parts: Seq[String]): String =
    if (parts.size <= 1) parts.mkString
    else parts.zipWithIndex.map { case (part, n) =>
      made += s"private void ${name}_$n($parameters) {\n$part\n}"
      s"${name}_$n($arguments);"
    }.mkString("\n")

  def declared: String = made.mkString("\n")
}

private[generated] object SplitCode {

  /** Nodes of expressions whose code makes a method of a size that the compilers like. */
  private val Length = 250

  def length(e: Expression): Int = 1 + e.children.map(length).sum

  /** Runs of items of about as much code as a method should have. */
  def grouped[T](items: Seq[T])(length: T => Int): Seq[Seq[T]] = {
    val groups = mutable.ArrayBuffer.empty[mutable.ArrayBuffer[T]]
    var left = 0
    items.foreach { item =>
      if (groups.isEmpty || length(item) > left) {
        groups += mutable.ArrayBuffer.empty[T]
        left = Length
      }
      groups.last += item
      left -= length(item)
    }
    groups.map(_.toSeq).toSeq
  }
}
