package io.phantoms.spark.house

import scala.util.matching.Regex

/** One room knows another: `path` names something of it. */
final case class Arrow(from: String, to: String, path: String, reference: String) {
  def show: String = s"${Arrows.named(from)} may not know ${Arrows.named(to)} ($reference)"
}

/** Who knows whom, by imports and by qualified names. */
object Arrows {
  private val Qualified = s"(?<![\\w.])(?:_root_\\.)?${Regex.quote(House.Root)}((?:\\.\\w+)+)".r
  private val Import = "(?m)^\\s*import\\s+(?:static\\s+)?([^\\n{;]*)(?:\\{([^}]*)\\})?".r

  def named(room: String): String = if (room.isEmpty) "the root" else room

  def of(sources: Seq[Source], rooms: Set[String]): Seq[Arrow] = sources.flatMap { source =>
    references(source, rooms).map(r => Arrow(source.room, roomOf(r, rooms), source.path, r))
      .filter(a => a.from != a.to).distinct
  }

  /** Names of things below the root that a source mentions, without the root. */
  def references(source: Source, rooms: Set[String]): Seq[String] = {
    // A name that is a word of Scala 3 is written between them.
    val code = source.code.filterNot(_ == '`')
    val imported = Import.findAllMatchIn(code).toSeq.flatMap { m =>
      Option(m.group(2)) match {
        case None => m.group(1).split(',').map(_.trim).toSeq
        case Some(selectors) =>
          val prefix = m.group(1).trim
          selectors.split(',').map(_.trim.split("=>|\\sas\\s").head.trim).filter(_.nonEmpty).map(prefix + _).toSeq
      }
    }.map(_.stripPrefix("_root_."))
    // Members of these are known by their simple names: of packages that the file is in, or imports all of.
    val wildcards = imported.filter(i => i.endsWith("._") || i.endsWith(".*")).map(_.dropRight(2))
    val open = (source.packages ++ wildcards).filter(isBelow).map(inside).distinct
    val absolute = imported.filter(i => isBelow(i)).map(inside) ++
      Qualified.findAllMatchIn(code).map(_.group(1).drop(1))
    val relative = open.flatMap { outer =>
      val inner = rooms.filter(r => r != outer && (outer.isEmpty || r.startsWith(outer + "."))).toSeq
        .map(r => if (outer.isEmpty) r else r.drop(outer.length + 1)).map(_.takeWhile(_ != '.')).distinct
      inner.flatMap { head =>
        val prefix = if (outer.isEmpty) head else s"$outer.$head"
        val use = s"(?<![\\w.\"$$])$head((?:\\.[a-z]\\w*)*\\.[A-Z]\\w*)".r
        use.findAllMatchIn(code).map(m => prefix + m.group(1)) ++
          imported.filter(i => i == head || i.startsWith(head + ".")).map(i => prefix + i.drop(head.length))
      }
    }
    (absolute ++ relative).map(_.stripSuffix("._").stripSuffix(".*")).filterNot(r => r == "_" || r == "*").distinct
  }

  private def isBelow(name: String): Boolean = name == House.Root || name.startsWith(House.Root + ".")

  private def inside(name: String): String = name.drop(House.Root.length + 1)

  /** The room that a name is in: the longest that it begins with. */
  private def roomOf(name: String, rooms: Set[String]): String =
    name.split('.').toSeq.inits.map(_.mkString(".")).find(rooms.contains).getOrElse("")

  /** Rooms that know each other, directly or by way of others. */
  def circles(arrows: Seq[Arrow]): Seq[Set[String]] = {
    val next = arrows.groupMap(_.from)(_.to).view.mapValues(_.toSet).toMap.withDefaultValue(Set.empty[String])
    def reach(seen: Set[String], open: Set[String]): Set[String] =
      if (open.isEmpty) seen else reach(seen ++ open, open.flatMap(next) -- seen -- open)
    val below = next.keys.map(room => room -> reach(Set.empty, next(room))).toMap.withDefaultValue(Set.empty[String])
    below.keys.filter(r => below(r).contains(r)).map(r => below(r).filter(o => below(o).contains(r))).toSeq.distinct
  }
}
