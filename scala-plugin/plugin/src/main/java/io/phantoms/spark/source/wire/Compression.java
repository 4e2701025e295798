package io.phantoms.spark.source.wire;

/** How a file is compressed, as its first four bytes say. */
public enum Compression {
  NONE,
  GZIP,
  ZSTD;

  /** That of a file which begins with these bytes, in network order. */
  static Compression of(int first) {
    if (GzipMembers.starts(first)) {
      return GZIP;
    }
    // A frame, or one to be skipped as parallel compressors put before it.
    return first == 0x28b52ffd || (first & 0xf0ffffff) == 0x502a4d18 ? ZSTD : NONE;
  }
}
