package io.phantoms.spark.source

import java.io.IOException
import java.nio.file.AccessDeniedException

import org.scalatest.funsuite.AnyFunSuite

/** What is told of a file that cannot be read; the rest is asked through the command. */
class LftaInfoSuite extends AnyFunSuite {
  test("an error says what was wrong, not the path alone") {
    assert(LftaInfo.reason(new AccessDeniedException("/captures/a.pcap")).contains("AccessDenied"))
    assert(LftaInfo.reason(new IOException("byte 7: no record")) == "byte 7: no record")
    assert(LftaInfo.reason(new IOException()) == "java.io.IOException")
  }
}
