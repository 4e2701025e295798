package io.phantoms.spark.source.wire;

import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.zip.ZipException;

/**
 * The bytes of a file, through one buffer that is used again and again: what {@link #ensure} has made contiguous lies
 * at {@link #position} of {@link #buffer} until the next call of {@link #ensure}.
 *
 * <p>The buffer grows only as far as bytes really come, so that a length field that lies costs nothing; no more than
 * {@link #MOST} bytes are asked for at a time.
 */
public final class ByteSupply implements Closeable {
  /** The most bytes that may be wanted contiguous. */
  public static final int MOST = 64 << 20;

  /** Bytes of a buffer to begin with. */
  static final int SIZE = 512 << 10;

  private final String name;
  private final InputStream in;
  private final Compression compression;
  private byte[] buffer;
  private int position;
  private int limit;
  private long base;
  private boolean ended;
  private String failure;

  /**
   * @param name the file's path
   * @param in its bytes from {@code startOffset} on
   * @param startOffset where in the file {@code in} begins
   */
  public ByteSupply(String name, InputStream in, long startOffset) {
    this(name, in, startOffset, Compression.NONE, SIZE);
  }

  /** One whose buffer has this many bytes to begin with. */
  ByteSupply(String name, InputStream in, long startOffset, Compression compression, int size) {
    this.name = name;
    this.in = in;
    this.base = startOffset;
    this.compression = compression;
    this.buffer = new byte[size];
  }

  /**
   * The bytes of a file from its beginning, decompressed if it starts as gzip or Zstandard do. The stream is closed
   * with the supply, and if there is none because of an error.
   */
  public static ByteSupply decompressed(String name, InputStream raw) throws IOException {
    return decompressed(name, raw, SIZE);
  }

  static ByteSupply decompressed(String name, InputStream raw, int size) throws IOException {
    try {
      return decompress(name, raw, size);
    } catch (IOException | RuntimeException | Error e) {
      try {
        raw.close();
      } catch (IOException inClosing) {
        e.addSuppressed(inClosing);
      }
      throw e;
    }
  }

  private static ByteSupply decompress(String name, InputStream raw, int size) throws IOException {
    PeekedInput peeked = new PeekedInput(raw);
    Compression compression = Compression.of(peeked.peek());
    return new ByteSupply(name, decompress(peeked, compression), 0, compression, size);
  }

  private static InputStream decompress(InputStream stored, Compression compression) throws IOException {
    switch (compression) {
      case GZIP:
        return new GzipMembers(stored);
      case ZSTD:
        return new ZstdInputStreamNoFinalizer(stored);
      default:
        return stored;
    }
  }

  /** The file's path. */
  public String name() {
    return name;
  }

  /** How the file is compressed. */
  public Compression compression() {
    return compression;
  }

  /** Whether the file is compressed: then it can be read from its beginning only. */
  public boolean isCompressed() {
    return compression != Compression.NONE;
  }

  /** Makes the next {@code n} bytes contiguous; false where the file ends before. */
  public boolean ensure(int n) throws IOException {
    return limit - position >= n || fill(n);
  }

  private boolean fill(int n) throws IOException {
    if (n > MOST) {
      throw new IllegalArgumentException(n + " bytes wanted at a time, at most " + MOST);
    }
    if (ended) {
      return false;
    }
    if (buffer.length - position < n) {
      makeRoom();
    }
    while (limit - position < n && !ended) {
      if (limit == buffer.length) {
        makeRoom();
      }
      read();
    }
    return limit - position >= n;
  }

  /**
   * Moves what is left to the buffer's beginning; to that of a larger one if it is much, or it would be moved too
   * often.
   */
  private void makeRoom() {
    int left = limit - position;
    byte[] to = left > buffer.length / 2 ? new byte[(int) Math.min(MOST, 2L * buffer.length)] : buffer;
    System.arraycopy(buffer, position, to, 0, left);
    buffer = to;
    base += position;
    position = 0;
    limit = left;
  }

  private void read() throws IOException {
    try {
      int got = in.read(buffer, limit, buffer.length - limit);
      if (got < 0) {
        ended = true;
      } else {
        limit += got;
      }
    } catch (ZipException | ZstdIOException e) {
      if (!isCompressed()) {
        throw e;
      }
      // What was decompressed so far is good; the reader says what becomes of the rest.
      ended = true;
      failure = e.getMessage();
    }
  }

  /** Why a compressed file ended before its time, once its last good byte was asked for; null if it did not. */
  public String failure() {
    return failure;
  }

  /** The array that {@link #position} is a place in; another one after {@link #ensure}. */
  public byte[] buffer() {
    return buffer;
  }

  /** Where in {@link #buffer} the next byte is. */
  public int position() {
    return position;
  }

  /** How many bytes are contiguous already. */
  public int available() {
    return limit - position;
  }

  /** Where in the file, after decompression, the next byte is. */
  public long offset() {
    return base + position;
  }

  /** The next bytes, as many as there are of so many; they stay the next. */
  public byte[] head(int n) throws IOException {
    ensure(n);
    return Arrays.copyOfRange(buffer, position, position + Math.min(n, available()));
  }

  /** Goes over bytes that {@link #ensure} has made contiguous. */
  public void advance(int n) {
    position += n;
  }

  /** Goes over bytes; false where the file ends before. */
  public boolean skip(long n) throws IOException {
    long left = n;
    while (left > limit - position) {
      left -= limit - position;
      position = limit;
      if (!fill(1)) {
        return false;
      }
    }
    position += (int) left;
    return true;
  }

  /** Goes to the end of the file; answers how many bytes that were. */
  long skipAll() throws IOException {
    long from = offset();
    do {
      position = limit;
    } while (fill(1));
    return offset() - from;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
