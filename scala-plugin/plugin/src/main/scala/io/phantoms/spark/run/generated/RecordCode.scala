package io.phantoms.spark.run.generated

import io.phantoms.spark.functions.{FieldType, KernelSupport, RecordWords}
import io.phantoms.spark.spec.{Flag, RecordLayout, SharedSpec}

import org.apache.spark.sql.catalyst.expressions.BoundReference
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._

/** Java text that reads and writes records of one relation. `table` and `at` name an array of words and an offset. */
final class RecordCode(spec: SharedSpec, val layout: RecordLayout) {
  import layout._
  private val support = classOf[KernelSupport].getName
  private val recordWords = classOf[RecordWords].getName

  private def hex(mask: Long): String = s"0x${java.lang.Long.toHexString(mask)}L"
  private def word(table: String, at: String, w: Int): String = if (w == 0) s"$table[$at]" else s"$table[$at + $w]"

  /** Names of the flag and key words when they are locals or parameters. */
  val keyLocals: Seq[String] = (0 until flagWords).map(i => s"m$i") ++ (0 until keyWords).map(i => s"w$i")
  val keyParameters: String = keyLocals.map("long " + _).mkString(", ")

  /** Declares the key locals from per-key bits and null variables (null: the key cannot be NULL). */
  def packKeys(bits: Int => String, isNull: Int => Option[String]): String = {
    val flags = (0 until flagWords).map { w =>
      val nulls = keys.flatMap(k =>
        keyNull.get(k).filter(_.word == w).flatMap(f =>
          isNull(k).map(n => s"($n ? ${hex(f.mask)} : 0L)")
        )
      )
      s"final long m$w = ${(occupied(w) +: nulls).mkString(" | ")};"
    }
    (flags ++ (0 until keyWords).map(packWord(_, bits))).mkString("\n")
  }

  private def packWord(w: Int, bits: Int => String): String = {
    val parts = placesIn(flagWords + w).map { case (k, shift) =>
      if (shift == 0) bits(k) else s"(${bits(k)} << $shift)"
    }
    s"final long w$w = ${parts.mkString(" | ")};"
  }

  /** The keys in a word of a record and their shifts. */
  private def placesIn(word: Int): Seq[(Int, Int)] =
    keys.map(k => k -> keyPlace(k)).collect { case (k, (`word`, shift)) => k -> shift }

  private def occupied(flagWord: Int): String = if (flagWord == 0) "Long.MIN_VALUE" else "0L"

  /** Declares the key locals from a record of a finer relation. */
  def packKeysFrom(parent: RecordCode, table: String, at: String): String = {
    val flags = (0 until flagWords).map { w =>
      val mask = keyMask(w)
      val inherited = if (mask == 0) "" else s" | (${word(table, at, w)} & ${hex(mask)})"
      s"final long m$w = ${occupied(w)}$inherited;"
    }
    val words = (0 until keyWords).map { w =>
      // A word of the same keys at the same places, as in a record of the same relation, is taken as it is.
      (parent.layout.flagWords until parent.layout.flagWords + parent.layout.keyWords)
        .find(parent.placesIn(_) == placesIn(flagWords + w)) match {
        case Some(same) => s"final long w$w = ${word(table, at, same)};"
        case None => packWord(w, parent.keyBits(_, table, at))
      }
    }
    (flags ++ words).mkString("\n")
  }

  /** The bits of one key of a record. */
  def keyBits(key: Int, table: String, at: String): String = {
    val (w, shift) = keyPlace(key)
    val width = spec.keys(key).field.bits
    val shifted = if (shift == 0) word(table, at, w) else s"(${word(table, at, w)} >>> $shift)"
    if (width == 64 || shift + width == 64) shifted else s"($shifted & ${hex((1L << width) - 1)})"
  }

  /**
   * Declares `h`, the table hash of the key locals.
   *
   * @param unless Java text of when it is not needed: it is 0 then
   */
  def hash(unless: Option[String] = None): String = {
    val hashing = classOf[io.phantoms.spark.block.Hashing].getName
    val seed = (0 until flagWords).filter(keyMask(_) != 0)
      .foldLeft(s"$hashing.TABLE_SEED")((h, w) => if (w == 0) s"$h ^ m0" else s"$hashing.mix($h, m$w)")
    val mixed = (0 until keyWords).foldLeft(seed)((h, w) => s"$hashing.mix($h, w$w)")
    s"final long h = ${unless.fold("")(u => s"$u ? 0L : ")}$hashing.finish($mixed);"
  }

  /** Whether the record holds the group of the key locals; a free bucket does not. */
  def matches(table: String, at: String): String = {
    val flags = (0 until flagWords).flatMap { w =>
      val mask = keyMask(w) | (if (w == 0) Long.MinValue else 0L)
      Option.when(mask != 0)(s"(${word(table, at, w)} & ${hex(mask)}) == m$w")
    }
    (flags ++ (0 until keyWords).map(w => s"${word(table, at, flagWords + w)} == w$w")).mkString(" && ")
  }

  /** Writes the key locals (and clears all buffer flags). */
  def storeKeys(table: String, at: String): String =
    keyLocals.zipWithIndex.map { case (name, w) => s"${word(table, at, w)} = $name;" }.mkString("\n")

  /** Copies the buffers of a finer relation's record to a record whose keys were just stored. */
  def copyBuffers(table: String, at: String, parent: RecordCode, from: String, fromAt: String): String = {
    val flags = (0 until flagWords).filter(slotMask(_) != 0)
      .map(w => s"${word(table, at, w)} |= ${word(from, fromAt, w)} & ${hex(slotMask(w))};")
    val words = slots.filterNot(carryShift.contains).flatMap { s =>
      val (to, source, count) = (slotPlace(s), parent.layout.slotPlace(s), slotWords(s))
      if (count <= RecordCode.ByWord)
        (0 until count).map(i => s"${word(table, at, to + i)} = ${word(from, fromAt, source + i)};")
      else Seq(s"System.arraycopy($from, $fromAt + $source, $table, $at + $to, $count);")
    }
    val carries = sharedWords.map { case (w, both) =>
      val halves = both.map(s => s"(${parent.carryBits(s, from, fromAt)} << ${carryShift(s)})")
      s"${word(table, at, w)} = ${halves.mkString(" | ")};"
    }
    // No object is of two records.
    val objects = objectPlaces.map { case (_, w) => s"${word(table, at, w)} = objects.copy(${word(table, at, w)});" }
    (flags ++ words ++ carries ++ objects).mkString("\n")
  }

  /** Frees the objects of a record that is dropped. */
  def freeObjects(table: String, at: String): String =
    objectPlaces.map { case (_, w) => s"objects.free(${word(table, at, w)});" }.mkString("\n")

  /** The bits of a carry of a record. */
  private def carryBits(slot: Int, table: String, at: String): String =
    s"((${word(table, at, slotPlace(slot))} >>> ${carryShift(slot)}) & ${hex(RecordLayout.HalfWord)})"

  /** A key of a record as a value, for expressions. */
  def loadKey(ctx: CodegenContext, key: Int, table: String, at: String): ExprCode = {
    val k = spec.keys(key)
    val isNull = keyNull.get(key).map(f => s"(${word(table, at, f.word)} & ${hex(f.mask)}) != 0L")
    declare(ctx, k.field, isNull, k.field.fromBits(keyBits(key, table, at)))
  }

  /** A buffer field of a record as a value. */
  def loadSlot(ctx: CodegenContext, slot: Int, table: String, at: String): ExprCode = {
    val isNull = slotNull.get(slot).map(f => s"(${word(table, at, f.word)} & ${hex(f.mask)}) != 0L")
    val w = slotPlace(slot)
    val value = slotField(slot) match {
      case FieldType.WideDecimal(t) =>
        s"$support.decimal(${word(table, at, w)}, ${word(table, at, w + 1)}, ${t.precision}, ${t.scale})"
      case FieldType.Total(t) =>
        s"$support.total(${(0 until 3).map(i => word(table, at, w + i)).mkString(", ")}, ${t.scale})"
      case FieldType.CarryField => s"(int) ${carryBits(slot, table, at)}"
      case FieldType.Words(count) =>
        // One view for each place in the code: where two groups are merged, both are in use.
        val view = ctx.addMutableState(recordWords, "words", v => s"$v = new $recordWords($count);")
        s"$view.of($table, $at + $w)"
      case f => f.fromBits(word(table, at, w))
    }
    declare(ctx, slotField(slot), isNull, value)
  }

  private def declare(ctx: CodegenContext, field: FieldType, isNull: Option[String], value: String): ExprCode = {
    val javaType = CodeGenerator.javaType(field.dataType)
    val name = ctx.freshName("value")
    isNull match {
      case None =>
        ExprCode(code"final $javaType $name = $value;", FalseLiteral, JavaCode.variable(name, field.dataType))
      case Some(condition) =>
        val nullName = ctx.freshName("isNull")
        val default = CodeGenerator.defaultValue(field.dataType)
        ExprCode(
          code"""final boolean $nullName = $condition;
                |final $javaType $name = $nullName ? ($javaType) $default : ($javaType) $value;""".stripMargin,
          JavaCode.isNullVariable(nullName),
          JavaCode.variable(name, field.dataType)
        )
    }
  }

  /** Code, and Java text, of what a dictionary takes: for nested types the bytes of a row. */
  private def inDictionary(ctx: CodegenContext, field: FieldType, v: ExprCode): (String, String) = field match {
    case FieldType.RowField(t) =>
      ctx.INPUT_ROW = null
      ctx.currentVars = Seq(ExprCode(FalseLiteral, v.value))
      val row = GenerateUnsafeProjection.createCode(ctx, Seq(BoundReference(0, t, nullable = false)))
      (row.code.toString, row.value.toString)
    case _ => ("", v.value.toString)
  }

  /**
   * Stores an evaluated buffer field.
   *
   * @param old what was loaded before, to leave a dictionary value alone that did not change
   */
  def storeSlot(
      ctx: CodegenContext,
      slot: Int,
      table: String,
      at: String,
      v: ExprCode,
      old: Option[ExprCode]
  ): String = {
    val w = slotPlace(slot)
    val write = slotField(slot) match {
      case FieldType.WideDecimal(t) =>
        val big = ctx.freshName("unscaled")
        val overflow = slotNull.get(slot).map(f =>
          s"""if ($big == null) {
             |  ${word(table, at, f.word)} |= ${hex(f.mask)};
             |  ${word(table, at, w)} = 0L; ${word(table, at, w + 1)} = 0L;
             |} else """.stripMargin
        ).getOrElse("")
        s"""java.math.BigInteger $big = $support.wide(${v.value}, ${t.precision}, ${t.scale});
           |$overflow {
           |  ${word(table, at, w)} = $support.high($big); ${word(table, at, w + 1)} = $big.longValue();
           |}""".stripMargin
      case FieldType.Total(t) =>
        val big = ctx.freshName("unscaled")
        val stores = (0 until 3).map(i => s"${word(table, at, w + i)} = $support.word($big, ${2 - i});")
        s"java.math.BigInteger $big = $support.total(${v.value}, ${t.scale});\n${stores.mkString("\n")}"
      case FieldType.CarryField =>
        val (shift, text) = (carryShift(slot), word(table, at, w))
        val set = s"$text = ($text & ${hex(~(RecordLayout.HalfWord << shift))}) | " +
          s"(${slotField(slot).toBits(v.value.toString)} << $shift);"
        old.fold(set)(o => s"if (${v.value} != ${o.value}) { $set }")
      case FieldType.Words(count) =>
        // Changed in place, from zero on.
        if (old.isDefined) "" else s"java.util.Arrays.fill($table, $at + $w, $at + ${w + count}, 0L);"
      case FieldType.ObjectField => if (old.isDefined) "" else s"${word(table, at, w)} = objects.create($slot);"
      case f if f.isDictionary =>
        val (code, value) = inDictionary(ctx, f, v)
        val set = s"$code ${word(table, at, w)} = ${f.toBits(value)};"
        old.fold(set)(o => s"if (${v.value} != ${o.value}) { $set }")
      case f => s"${word(table, at, w)} = ${f.toBits(v.value.toString)};"
    }
    slotNull.get(slot) match {
      case None => write
      case Some(f) =>
        // The bits seldom change: where the old ones are known, a test is cheaper than writing them again.
        def unless(isNull: String)(set: String) = old.fold(set)(o => s"if ($isNull${o.isNull}) { $set }")
        val clear = unless("")(s"${word(table, at, f.word)} &= ${hex(~f.mask)};")
        if (v.isNull == FalseLiteral) s"$clear\n$write"
        else {
          val zero = (0 until slotWords(slot)).map(i => s"${word(table, at, w + i)} = 0L;").mkString(" ")
          s"""if (${v.isNull}) {
             |  ${unless("!")(s"${word(table, at, f.word)} |= ${hex(f.mask)}; $zero")}
             |} else {
             |  $clear
             |  $write
             |}""".stripMargin
        }
    }
  }

  /** Dictionary fields (keys and buffers) as (word, shift, null flag). */
  def dictionaryFields: Seq[(Int, Int, Option[Flag])] =
    keys.filter(spec.keys(_).field.isDictionary).map(k => (keyPlace(k)._1, keyPlace(k)._2, keyNull.get(k))) ++
      slots.filter(slotField(_).isDictionary).map(s => (slotPlace(s), 0, slotNull.get(s)))

  /** Rewrites every dictionary id of a record in place: `translate` maps the Java text of an id to that of the new one. */
  def rewriteIds(table: String, at: String, translate: String => String): String =
    dictionaryFields.map { case (w, shift, isNull) =>
      val id = s"(int) (${word(table, at, w)} >>> $shift)"
      val keep = hex(~(0xffffffffL << shift))
      val write = s"${word(table, at, w)} = (${word(table, at, w)} & $keep) | " +
        s"((${translate(id)} & 0xFFFFFFFFL) << $shift);"
      guarded(isNull, table, at, write)
    }.mkString("\n")

  private def guarded(isNull: Option[Flag], table: String, at: String, code: String): String = isNull match {
    case None => code
    case Some(f) => s"if ((${word(table, at, f.word)} & ${hex(f.mask)}) == 0L) { $code }"
  }

  /**
   * Java text that adds a record to the block builder `block` and sets `full`. Ids become ordinals into the block's own
   * dictionary, in a copy: the table keeps the task's.
   */
  def append(block: String, table: String, at: String, full: String): String =
    if (objectPlaces.nonEmpty) {
      val bodies = objectPlaces.map { case (_, w) =>
        s"$block.patch($w, $block.body(objects.written(${word(table, at, w)})));"
      }
      (if (dictionaryFields.isEmpty) s"$full = $block.add($table, $at);" else appendPatched(block, table, at, full)) +
        bodies.mkString("\n", "\n", "")
    } else if (dictionaryFields.isEmpty && stride <= RecordCode.ByWord)
      s"""final int to = $block.next();
         |final long[] words = $block.words();
         |${(0 until stride).map(w => s"${word("words", "to", w)} = ${word(table, at, w)};").mkString("\n")}
         |$full = $block.added();""".stripMargin
    else if (dictionaryFields.isEmpty) s"$full = $block.add($table, $at);"
    else appendPatched(block, table, at, full)

  private def appendPatched(block: String, table: String, at: String, full: String): String = {
    val patches = dictionaryFields.map(_._1).distinct.map(w => s"$block.patch($w, copy[$w]);").mkString("\n")
    s"""$full = $block.add($table, $at);
       |final long[] copy = java.util.Arrays.copyOfRange($table, $at, $at + $stride);
       |${rewriteIds("copy", "0", id => s"(long) $block.localId($id, dictionary)")}
       |$patches""".stripMargin
  }

  /** An expression for the shard hash of a record: equal for equal shard keys in every task. */
  def shardHash(shardKey: Seq[Int], table: String, at: String): String = {
    val hashing = classOf[io.phantoms.spark.block.Hashing].getName
    shardKey.foldLeft(s"$hashing.SHARD_SEED") { (h, k) =>
      val bits = keyBits(k, table, at)
      val content = if (spec.keys(k).field.isDictionary) s"dictionary.hash((int) $bits)" else bits
      val value = keyNull.get(k) match {
        case None => content
        case Some(f) => s"((${word(table, at, f.word)} & ${hex(f.mask)}) != 0L ? ${hex(f.mask)} : $content)"
      }
      s"$hashing.mix($h, $value)"
    }
  }
}

object RecordCode {

  /** Longest record that is copied word by word: calling `arraycopy` costs more than copying so few. */
  private val ByWord = 8
}
