package io.phantoms.spark.source.wire;

import java.io.IOException;
import java.io.InputStream;

/** A file as its storage offers it. */
public interface CaptureFile {

  /** Its path, for errors. */
  String path();

  /** Its length in bytes, as stored. */
  long length();

  /** Its bytes from an offset on; the caller closes the stream. */
  InputStream open(long offset) throws IOException;
}
