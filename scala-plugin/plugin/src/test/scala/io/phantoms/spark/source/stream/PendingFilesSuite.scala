package io.phantoms.spark.source.stream

import java.io.{ByteArrayInputStream, FileNotFoundException, InputStream}
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN

import scala.collection.mutable
import scala.util.Random

import io.phantoms.spark.source.TestCaptures
import io.phantoms.spark.source.wire.{CaptureFile, CaptureFiles, Policy, Split}

import org.scalatest.funsuite.AnyFunSuite

/** Which parts of which files are taken when. */
class PendingFilesSuite extends AnyFunSuite {
  private val capture = TestCaptures.pcap(TestCaptures.random(40, 3))
  private val age = 5000L

  /** Files in memory, and a clock. */
  private final class Folder(maxAge: Long = Long.MaxValue / 4, follows: Boolean = true) {
    var now = 1700000000000L
    private val files = mutable.LinkedHashMap.empty[String, (Array[Byte], Long)]
    val seen = new SeenFiles(maxAge)
    private def open(name: String, of: Long): CaptureFile = new CaptureFile {
      override def path(): String = name
      override def length(): Long = of
      override def open(offset: Long): InputStream = {
        val bytes = files.getOrElse(name, throw new FileNotFoundException(name))._1
        new ByteArrayInputStream(bytes, offset.toInt, math.min(of, bytes.length.toLong).toInt - offset.toInt)
      }
    }
    val pending = new PendingFiles(seen, age, follows, open, files.contains, () => now)
    def write(path: String, bytes: Array[Byte], at: Long = now): Unit = files(path) = bytes -> at
    def delete(path: String): Unit = files -= path
    def listed: Seq[ListedFile] = files.toSeq.map { case (p, (b, at)) => ListedFile(p, b.length.toLong, at) }
    def take(): Seq[TakenPart] = {
      val parts = pending.of(listed)
      parts.foreach(seen.add)
      seen.purge()
      parts
    }
    def rows(part: TakenPart): Int = rowsBy(part, Policy.FAILFAST)
    def rowsBy(part: TakenPart, mode: Policy): Int = {
      val headers = part.headers.map(h => java.util.List.of(h.map(Long.box): _*)).orNull
      val split = new Split(part.from, part.until, headers)
      val reader = CaptureFiles.open(open(part.path, part.until), split, mode, null)
      try Iterator.continually(reader.next()).takeWhile(identity).size
      finally reader.close()
    }
  }

  test("a capture that grows is taken record by record, and nothing twice") {
    val random = new Random(5)
    for (_ <- 1 to 20) {
      val folder = new Folder
      var (length, rows) = (0, 0)
      while (length < capture.length) {
        length = math.min(capture.length, length + 1 + random.nextInt(900))
        folder.now += 1000
        folder.write("a", capture.take(length))
        folder.take().foreach(p => rows += folder.rows(p))
      }
      folder.now += age
      folder.take().foreach(p => rows += folder.rows(p))
      assert(rows == 40)
      assert(folder.take().isEmpty && folder.pending.changed == 0)
    }
  }

  test(
    "a settled file is taken to its end, its last record whole or not; what comes later is read from that record on"
  ) {
    val folder = new Folder
    val cut = capture.length - 7
    folder.write("a", capture.take(cut))
    val young = folder.take()
    assert(young.map(folder.rows) == Seq(39) && young.head.until < cut)
    assert(folder.take().isEmpty)
    folder.now += age
    val settled = folder.take()
    assert(settled.map(p => p.from -> p.until) == Seq(young.head.until -> cut.toLong))
    assert(folder.take().isEmpty)
    folder.write("a", capture)
    assert(folder.take().map(folder.rows) == Seq(1))
    assert(folder.take().isEmpty && folder.pending.changed == 0)
  }

  test("a capture with damage within: what lies behind it is taken once, whenever it grows") {
    val bytes = capture.clone
    // The length of the third record.
    val third = (1 to 2).foldLeft(24)((at, _) => at + 16 + ByteBuffer.wrap(bytes).order(LITTLE_ENDIAN).getInt(at + 8))
    java.util.Arrays.fill(bytes, third + 8, third + 12, 0x7f.toByte)
    val random = new Random(7)
    for (_ <- 1 to 20) {
      val folder = new Folder
      var (length, rows) = (0, 0)
      while (length < bytes.length) {
        length = math.min(bytes.length, length + 1 + random.nextInt(900))
        folder.write("a", bytes.take(length))
        if (random.nextBoolean()) folder.now += age
        folder.take().foreach(p => rows += folder.rowsBy(p, Policy.DROPMALFORMED))
      }
      folder.now += age
      folder.take().foreach(p => rows += folder.rowsBy(p, Policy.DROPMALFORMED))
      assert(rows == 39)
    }
  }

  test("a file that was settled at first sight and grows is followed, if it was written within the hour") {
    val folder = new Folder
    folder.write("a", capture.take(500), folder.now - age)
    folder.write("b", capture.take(500), folder.now - 7200000)
    assert(folder.take().map(p => p.path -> p.until) == Seq("b" -> 500L, "a" -> 500L))
    folder.write("a", capture)
    folder.write("b", capture)
    val more = folder.take()
    assert(more.map(_.path) == Seq("a"))
    val before = folder.rows(TakenPart("a", 0, more.head.from, 0, 0, None, None))
    assert(before + folder.rows(more.head) == 40)
    assert(folder.pending.changed == 1)
  }

  test("other kinds wait until nobody has written to them for a while") {
    val folder = new Folder
    val exported = TestCaptures.v5(TestCaptures.flows(40, 1)).toArray.flatten
    folder.write("a", exported)
    folder.write("empty", Array.emptyByteArray)
    assert(folder.take().isEmpty && folder.pending.waiting == 1)
    folder.now += age - 1
    assert(folder.take().isEmpty)
    folder.now += 1
    assert(folder.take().map(p => (p.path, p.from, p.until)) == Seq(("a", 0, exported.length.toLong)))
    assert(folder.pending.waiting == 0)
    folder.write("a", exported ++ exported)
    folder.now += age
    assert(folder.take().isEmpty && folder.pending.changed == 1)
  }

  test("captures that flows are read of wait, too") {
    val folder = new Folder(follows = false)
    folder.write("a", capture.take(900))
    assert(folder.take().isEmpty && folder.pending.waiting == 1)
    folder.now += age
    assert(folder.take().map(p => p.from -> p.until) == Seq(0L -> 900L))
    folder.write("a", capture)
    folder.now += age
    assert(folder.take().isEmpty && folder.pending.changed == 1)
  }

  test("a file that shrinks, or is another one now, is left alone") {
    for (other <- Seq(capture.take(100), TestCaptures.pcap(TestCaptures.random(60, 9)))) {
      val folder = new Folder
      folder.write("a", capture)
      assert(folder.take().size == 1)
      folder.now += 1000
      folder.write("a", other)
      assert(folder.take().isEmpty && folder.pending.changed == 1)
      folder.now += age
      assert(folder.take().isEmpty)
      folder.delete("a")
      assert(folder.take().isEmpty && folder.pending.changed == 0)
    }
  }

  test("a file that was but a header when it was seen first is told from another one once it has packets") {
    val folder = new Folder
    folder.write("a", capture.take(24), folder.now - age)
    assert(folder.take().map(_.until) == Seq(24))
    folder.write("a", capture, folder.now - age)
    assert(folder.take().map(folder.rows) == Seq(40))
    folder.now += 1000
    folder.write("a", TestCaptures.pcap(TestCaptures.random(60, 9)), folder.now - age)
    assert(folder.take().isEmpty && folder.pending.changed == 1)
  }

  test("a file that is gone again when it is looked at is not taken") {
    val folder = new Folder
    folder.write("a", capture, folder.now - age)
    folder.write("b", capture, folder.now - age)
    val listed = folder.listed
    folder.delete("a")
    assert(folder.pending.of(listed).map(_.path) == Seq("b"))
  }

  test("by time, then by name; those that are too old are not looked at") {
    val folder = new Folder(maxAge = 60000)
    folder.write("b", capture, folder.now - 50000)
    folder.write("c", capture, folder.now - 40000)
    folder.write("a", capture, folder.now - 40000)
    folder.write("old", capture, folder.now - 3600000)
    assert(folder.take().map(_.path) == Seq("old", "b", "a", "c"))
    assert(folder.seen.all.map(_.path) == Seq("b", "a", "c"))
    folder.write("late", capture, folder.now - 100001)
    folder.write("early", capture, folder.now - 99999)
    assert(folder.take().map(_.path) == Seq("early"))
  }

  test("a file that was left alone is as old as its last change, and not taken again") {
    val folder = new Folder(maxAge = 60000, follows = false)
    val times = (0 to 5).map(i => folder.now + i * 50000L)
    def at(i: Int)(name: String, bytes: Array[Byte]): Unit = {
      folder.now = times(i) + age
      folder.write(name, bytes, times(i))
    }
    at(0)("a", capture)
    assert(folder.take().size == 1)
    at(1)("a", capture ++ capture)
    assert(folder.take().isEmpty)
    at(2)("b", capture)
    assert(folder.take().map(_.path) == Seq("b") && folder.seen.all.map(_.path) == Seq("a", "b"))
    assert(folder.take().isEmpty)
    // A restart knows of the change only by the next listing.
    val restarted = new SeenFiles(60000)
    folder.seen.all.foreach(restarted.add)
    restarted.age()
    val again =
      new PendingFiles(restarted, age, false, (_, _) => throw new FileNotFoundException, _ => true, () => folder.now)
    assert(again.of(folder.listed).isEmpty)
    restarted.purge()
    assert(again.of(folder.listed).isEmpty && restarted.size == 2)
    at(3)("c", capture)
    at(4)("d", capture)
    assert(folder.take().map(_.path) == Seq("c", "d") && folder.seen.all.map(_.path) == Seq("c", "d"))
  }

  test("times of another clock: what has not changed for a while is settled") {
    val folder = new Folder
    val exported = TestCaptures.v5(TestCaptures.flows(4, 1)).toArray.flatten
    def unreadable(path: String, length: Long) = throw new FileNotFoundException(s"$path, $length: permission denied")
    val soon = new PendingFiles(folder.seen, 300, true, unreadable, _ => true, () => folder.now)
    val listed = Seq(ListedFile("a", exported.length.toLong, folder.now + 3600000))
    assert(soon.of(listed).isEmpty)
    Thread.sleep(400)
    assert(soon.of(listed).map(_.path) == Seq("a"))
  }
}
