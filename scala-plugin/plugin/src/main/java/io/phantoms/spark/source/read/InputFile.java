package io.phantoms.spark.source.read;

import org.apache.spark.rdd.InputFileBlockHolder;

/** What {@code input_file_name()} and its like tell; Scala sees Spark's holder as private to Spark. */
final class InputFile {
  private InputFile() {}

  static void set(String path, long start, long length) {
    InputFileBlockHolder.set(path, start, length);
  }

  static void unset() {
    InputFileBlockHolder.unset();
  }
}
