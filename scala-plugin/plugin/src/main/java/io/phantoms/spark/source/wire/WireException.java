package io.phantoms.spark.source.wire;

import java.io.IOException;

/** Bytes that are not what they should be: names the file, where in it, what is wrong and what can be done. */
public final class WireException extends IOException {
  private final String file;
  private final long offset;

  public WireException(String file, long offset, String what, String remedy) {
    super(file + ", byte " + offset + ": " + what + ". " + remedy);
    this.file = file;
    this.offset = offset;
  }

  /** The file's path. */
  public String file() {
    return file;
  }

  /** Where in the file, in bytes after decompression, counted from 0. */
  public long offset() {
    return offset;
  }
}
